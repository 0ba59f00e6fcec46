/// \file Passes the compiler's questions to the compute plugin.
#include "core/execute/device_target.hpp"

namespace baleen {

bool DeviceTarget::supports(const baleen_region_t& region) const {
  return device_.table().supports(device_.handle(), &region) != 0;
}

Result<TargetKernel> DeviceTarget::compile(const baleen_region_t& region) const {
  baleen_kernel_t made{};
  made.size = sizeof(made);
  const auto compile = ahead_ ? ahead_->begin : device_.table().compile;
  BALEEN_TRY(device_.check(compile(device_.handle(), &region, &made)));
  TargetKernel kernel;
  kernel.handle = std::shared_ptr<void>(
      made.kernel, [&device = device_](void* handle) { device.table().release(device.handle(), handle); });
  kernel.scratch_bytes = made.scratch_bytes;
  kernel.flops = made.flops;
  for (std::uint64_t i = 0; i < made.alias_count; ++i)
    kernel.aliases.emplace_back(made.aliases[i].output, made.aliases[i].input);
  return kernel;
}

Status DeviceTarget::finish(const std::shared_ptr<void>& kernel) const {
  return ahead_ ? device_.check(ahead_->finish(device_.handle(), kernel.get())) : Status();
}

}  // namespace baleen
