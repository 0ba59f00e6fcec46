/// \file What the plugin tells people of the processor. Peaks are not stated: they follow from clocks that change.
#include <cstdio>

#include "device.hpp"
#include "memory.hpp"

namespace baleen::cpu {
namespace {

Status describe(baleen_device_limits_t* out) {
  baleen_device_limits_t limits{};
  std::snprintf(limits.name, sizeof limits.name, "%s", processor_name().c_str());
  std::snprintf(limits.architecture, sizeof limits.architecture, "%s kernels", best_routines().name);
  limits.memory_bytes = whole_memory();
  limits.memory_free_bytes = free_memory();
  return copy_out(out, limits) ? Status() : no_size("limits");
}

}  // namespace

const void* Device::query_plugin(std::string_view name) {
  static constexpr baleen_compute_limits_t kLimits{
      sizeof(baleen_compute_limits_t),
      [](const baleen_host_t* host, const baleen_settings_t*, baleen_device_limits_t* out, std::uint64_t capacity,
         std::uint64_t* count) {
        return guard(Host(host), [&]() -> Status {
          *count = 1;
          return capacity > 0 ? describe(out) : Status();
        });
      },
      [](void* device, baleen_device_limits_t* out) {
        return guard(static_cast<Device*>(device)->host(), [&] { return describe(out); });
      }};
  return name == BALEEN_DEVICE_LIMITS ? &kLimits : nullptr;
}

}  // namespace baleen::cpu
