/// \file What the plugin tells people of the processor. Peaks are not stated: they follow from clocks that change.
#include <cstdio>

#include "device.hpp"
#include "memory.hpp"

namespace baleen::cpu {
namespace {

void describe(baleen_device_limits_t& out) {
  std::snprintf(out.name, sizeof out.name, "%s", processor_name().c_str());
  std::snprintf(out.architecture, sizeof out.architecture, "%s kernels", best_routines().name);
  out.memory_bytes = whole_memory();
  out.memory_free_bytes = free_memory();
}

}  // namespace

const void* Device::query_plugin(std::string_view name) {
  static constexpr baleen_compute_limits_t kLimits{
      sizeof(baleen_compute_limits_t),
      [](const baleen_host_t* host, const baleen_settings_t*, baleen_device_limits_t* out, std::uint64_t capacity,
         std::uint64_t* count) {
        return guard(Host(host), [&]() -> Status {
          *count = 1;
          if (capacity > 0) describe(out[0]);
          return {};
        });
      },
      [](void* device, baleen_device_limits_t* out) {
        return guard(static_cast<Device*>(device)->host(), [&]() -> Status {
          describe(*out);
          return {};
        });
      }};
  return name == BALEEN_DEVICE_LIMITS ? &kLimits : nullptr;
}

}  // namespace baleen::cpu
