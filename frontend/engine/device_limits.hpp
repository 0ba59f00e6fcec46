/// \file What compute plugins say of devices for people: names, memory, peaks.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/execute/device.hpp"

namespace baleen {

/// The machine's devices by their numbers. None (without an error) where the plugin does not describe devices; the
/// reason where it finds none.
Result<std::vector<baleen_device_limits_t>> list_devices(const Plugin& plugin, const baleen_settings_t& settings);

/// The device's own; nothing where it does not tell.
std::optional<baleen_device_limits_t> limits_of(const Device& device);

/// "NAME, compute capability 9.0, 80.0 GiB, 79.1 GiB free, 3.4 TB/s, dense TFLOP/s: fp64 33.5, fp32 66.9"; `now`: with
/// what changes from hour to hour.
std::string limits_text(const baleen_device_limits_t& limits, bool now);

}  // namespace baleen
