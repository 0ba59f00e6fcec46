/// \file Asks compute plugins for their devices' limits, and puts the answers into words.
#include "frontend/engine/device_limits.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "baleen/plugin.hpp"
#include "baleen/sized.hpp"

namespace baleen {
namespace {

constexpr std::uint64_t kMostDevices = 1024;

std::string number(double value, const char* unit) {
  char text[48];
  std::snprintf(text, sizeof text, value < 100 ? "%.1f%s" : "%.0f%s", value, unit);
  return text;
}

std::string gibibytes(std::uint64_t bytes) { return number(static_cast<double>(bytes) / (1 << 30), " GiB"); }

}  // namespace

Result<std::vector<baleen_device_limits_t>> list_devices(const Plugin& plugin, const baleen_settings_t& settings) {
  BALEEN_TRY_ASSIGN(const baleen_compute_t* table, plugin.table<baleen_compute_t>("compute"));
  const auto limits = Device::extension_of<baleen_compute_limits_t>(*table, nullptr, BALEEN_DEVICE_LIMITS);
  std::vector<baleen_device_limits_t> devices;
  if (!limits || !limits->list) return devices;
  std::uint64_t count = 0;
  BALEEN_TRY(plugin.check(limits->list(plugin.host(), &settings, nullptr, 0, &count)));
  devices.resize(std::min(count, kMostDevices), {});
  for (baleen_device_limits_t& one : devices) one.size = sizeof one;
  BALEEN_TRY(plugin.check(limits->list(plugin.host(), &settings, devices.data(), devices.size(), &count)));
  devices.resize(std::min<std::uint64_t>(count, devices.size()));
  return devices;
}

std::optional<baleen_device_limits_t> limits_of(const Device& device) {
  const auto extension = device.extension<baleen_compute_limits_t>(BALEEN_DEVICE_LIMITS);
  baleen_device_limits_t limits{};
  limits.size = sizeof limits;
  if (!extension || !extension->of || !device.check(extension->of(device.handle(), &limits))) return std::nullopt;
  return limits;
}

std::string limits_text(const baleen_device_limits_t& limits, bool now) {
  std::string text = limits.name;
  if (limits.architecture[0]) text += std::string(", ") + limits.architecture;
  if (limits.memory_bytes > 0) text += ", " + gibibytes(limits.memory_bytes);
  if (now && limits.memory_free_bytes > 0) text += ", " + gibibytes(limits.memory_free_bytes) + " free";
  if (limits.bytes_per_second > 0) text += ", " + number(limits.bytes_per_second * 1e-12, " TB/s");
  std::string peaks;
  for (const auto& [name, peak] :
       {std::pair{"fp64", limits.fp64}, std::pair{"fp32", limits.fp32}, std::pair{"tf32", limits.tf32},
        std::pair{"bf16", limits.bf16}, std::pair{"fp16", limits.fp16}})
    if (peak > 0) peaks += (peaks.empty() ? "" : ", ") + std::string(name) + " " + number(peak * 1e-12, "");
  return peaks.empty() ? text : text + ", dense TFLOP/s: " + peaks;
}

}  // namespace baleen
