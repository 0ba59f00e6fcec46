/// \file Peaks: multiprocessors times clock times what one of them does in a cycle.
#include "limits.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "options.hpp"

namespace baleen::cuda {
namespace {

/// Multiply-adds of one multiprocessor per cycle; tensor cores (dense, sums in fp32) but for fp64 and fp32. From the
/// whitepapers of NVIDIA's architectures A100, GA102, AD102, H100, B200 and GB202.
struct PerCycle {
  int capability;
  double fp64, fp32, tf32, half;
  double tensor_kilohertz;  ///< the clock of the stated peaks where that is below the device's; 0: the device's
};
constexpr PerCycle kPerCycle[] = {
    {80, 32, 64, 512, 1024, 0},
    {86, 2, 128, 256, 512, 0},
    {89, 2, 128, 256, 512, 0},
    {90, 64, 128, 1024, 2048, 1'830'000},
    {100, 64, 128, 2048, 4096, 1'850'000},
    {120, 2, 128, 128, 256, 0},
};

Status ask(const Driver& driver, CUdevice device, CUdevice_attribute which, double& out) {
  int value = 0;
  BALEEN_TRY(driver.check(driver.cuDeviceGetAttribute(&value, which, device), "asking for the device's properties"));
  out = value;
  return {};
}

void fill_peaks(int capability, double processors, double kilohertz, baleen_device_limits_t& out) {
  for (const PerCycle& per : kPerCycle) {
    if (per.capability != capability) continue;
    const double tensor_kilohertz = per.tensor_kilohertz > 0 ? std::min(kilohertz, per.tensor_kilohertz) : kilohertz;
    const double per_unit = 2 * processors * kilohertz * 1e3, per_tensor_unit = 2 * processors * tensor_kilohertz * 1e3;
    out.fp64 = per_unit * per.fp64;
    out.fp32 = per_unit * per.fp32;
    out.tf32 = per_tensor_unit * per.tf32;
    out.bf16 = out.fp16 = per_tensor_unit * per.half;
  }
}

constexpr int kLeastCapability = 80;
// Of a block's shared memory, for what kernels declare statically.
constexpr double kStaticShared = 4 << 10;

}  // namespace

Result<DeviceLimits> kernel_limits(const Driver& driver, CUdevice device, const std::string& name,
                                   const Settings& settings) {
  double major = 0, minor = 0, shared = 0;
  for (const auto& [which, value] : {std::pair{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &major},
                                     std::pair{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &minor},
                                     std::pair{CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, &shared}})
    BALEEN_TRY(ask(driver, device, which, *value));
  const int capability = static_cast<int>(major) * 10 + static_cast<int>(minor), told = architecture_of(settings);
  const std::string has =
      name + " has compute capability " + std::to_string(capability / 10) + "." + std::to_string(capability % 10);
  if (capability < kLeastCapability) return unsupported(has + "; this plugin needs 8.0 or later");
  if (told != 0 && told != capability)
    return invalid("the option `architecture` is \"" + std::string(settings.text("architecture")) + "\", and " + has +
                   "; leave the option out, or let it be the device's");
  return DeviceLimits{static_cast<std::uint64_t>(std::max(0.0, shared - kStaticShared)), capability};
}

Status describe_device(const Driver& driver, CUdevice device, baleen_device_limits_t& out) {
  BALEEN_TRY(driver.check(driver.cuDeviceGetName(out.name, sizeof out.name, device), "asking for the device's name"));
  double major = 0, minor = 0, processors = 0, kilohertz = 0, memory_kilohertz = 0, bits = 0;
  for (const auto& [which, value] : {std::pair{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &major},
                                     std::pair{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &minor},
                                     std::pair{CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &processors},
                                     std::pair{CU_DEVICE_ATTRIBUTE_CLOCK_RATE, &kilohertz},
                                     std::pair{CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, &memory_kilohertz},
                                     std::pair{CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, &bits}})
    BALEEN_TRY(ask(driver, device, which, *value));
  std::snprintf(out.architecture, sizeof out.architecture, "compute capability %.0f.%.0f", major, minor);
  std::size_t bytes = 0;
  BALEEN_TRY(driver.check(driver.cuDeviceTotalMem(&bytes, device), "asking for the device's memory"));
  out.memory_bytes = bytes;
  out.bytes_per_second = 2 * memory_kilohertz * 1e3 * bits / 8;  // twice per cycle
  fill_peaks(static_cast<int>(major) * 10 + static_cast<int>(minor), processors, kilohertz, out);
  return {};
}

}  // namespace baleen::cuda
