/// \file What the plugin tells people of devices, started or not.
#include "device.hpp"
#include "limits.hpp"
#include "options.hpp"

namespace baleen::cuda {

Status describe_stopped(const Driver& driver, int index, baleen_device_limits_t& out) {
  CUdevice device = 0;
  BALEEN_TRY(driver.check(driver.cuDeviceGet(&device, index), "opening the device"));
  BALEEN_TRY(describe_device(driver, device, out));
  CUcontext context = nullptr;
  std::size_t free = 0, total = 0;
  if (driver.cuDevicePrimaryCtxRetain(&context, device) != CUDA_SUCCESS) return {};  // another has it for itself
  if (driver.cuCtxSetCurrent(context) == CUDA_SUCCESS && driver.cuMemGetInfo(&free, &total) == CUDA_SUCCESS)
    out.memory_free_bytes = free;
  driver.cuDevicePrimaryCtxRelease(device);
  return {};
}

namespace {

/// Lets `describe` fill limits, and gives them to the host.
template <class Describe>
Status give_limits(baleen_device_limits_t* out, Describe&& describe) {
  baleen_device_limits_t limits{};
  BALEEN_TRY(describe(limits));
  return copy_out(out, limits) ? Status() : no_size("limits");
}

Status list(const Settings& settings, baleen_device_limits_t* out, std::uint64_t capacity, std::uint64_t& count) {
  BALEEN_TRY_ASSIGN(const Driver driver, open_driver(library_folders(settings)));
  BALEEN_TRY_ASSIGN(const int devices, count_devices(driver));
  count = static_cast<std::uint64_t>(devices);
  for (int i = 0; i < devices && static_cast<std::uint64_t>(i) < capacity; ++i)
    BALEEN_TRY(give_limits(&element(out, static_cast<std::uint64_t>(i)),
                           [&](baleen_device_limits_t& limits) { return describe_stopped(driver, i, limits); }));
  return {};
}

}  // namespace

Status Device::describe(baleen_device_limits_t& out) const {
  if (description_) {
    out = *description_;
    return {};
  }
  BALEEN_TRY(enter());
  BALEEN_TRY(describe_device(driver_, device_, out));
  std::size_t free = 0, total = 0;
  BALEEN_TRY(driver_.check(driver_.cuMemGetInfo(&free, &total), "asking for the device's memory"));
  out.memory_free_bytes = free;
  return {};
}

const void* Device::query_plugin(std::string_view name) {
  static constexpr baleen_compute_limits_t kLimits{
      sizeof(baleen_compute_limits_t),
      [](const baleen_host_t* host, const baleen_settings_t* settings, baleen_device_limits_t* out,
         std::uint64_t capacity, std::uint64_t* count) {
        return guard(Host(host), [&] { return list(Settings(settings), out, capacity, *count); });
      },
      [](void* device, baleen_device_limits_t* out) {
        const Device& self = *static_cast<const Device*>(device);
        return guard(self.host_, [&] {
          return give_limits(out, [&](baleen_device_limits_t& limits) { return self.describe(limits); });
        });
      }};
  return name == BALEEN_DEVICE_LIMITS ? &kLimits : nullptr;
}

}  // namespace baleen::cuda
