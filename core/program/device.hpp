/// \file A compute plugin's device with RAII and C++ errors.
#pragma once
#include <memory>
#include <string>

#include "baleen/compute.h"
#include "baleen/result.hpp"
#include "core/plugin/registry.hpp"
#include "core/plugin/settings.hpp"

namespace baleen {

/// Owns a device made by a compute plugin, and one stream on it. Not copyable.
class Device {
 public:
  static Result<std::unique_ptr<Device>> create(Plugin& plugin, const baleen_settings_t& settings);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const baleen_compute_t& table() const { return table_; }
  void* handle() const { return device_; }
  const baleen_device_info_t& info() const { return info_; }
  void* stream() const { return stream_; }

  /// Turns a status of this device into an Error with the text that the plugin gave.
  Status check(baleen_status_t status) const;

 private:
  Device() = default;
  baleen_compute_t table_{};
  baleen_device_info_t info_{};
  void* device_ = nullptr;
  void* stream_ = nullptr;
  Plugin* plugin_ = nullptr;
};

}  // namespace baleen
