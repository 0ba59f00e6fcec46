/// \file Whether the kernels that kinds of ops bring themselves write their results and nothing else.
#pragma once
#include "compiler/codegen/target.hpp"
#include "compiler/plan/plan.hpp"
#include "core/execute/device_target.hpp"

namespace baleen::app {

/// A device on which each kernel of a kind from a plugin is run once where it is compiled: on operands of the op's
/// shapes, which lie between bytes that must not change; and once more with gaps between their rows. Fails with the
/// operand or result and the first byte that was written beside the results.
class GuardedTarget : public Target {
 public:
  explicit GuardedTarget(Device& device) : device_(device), target_(device) {}

  bool supports(const baleen_region_t& region) const override { return target_.supports(region); }
  Result<TargetKernel> compile(const baleen_region_t& region) const override;
  Status finish(const std::shared_ptr<void>& kernel) const override { return target_.finish(kernel); }
  std::uint64_t alignment() const override { return target_.alignment(); }

 private:
  Status check_with_gaps(const baleen_region_t& region) const;

  Device& device_;
  DeviceTarget target_;
};

/// Compiles the programs of rank 0 for a GuardedTarget, and keeps nothing of them.
Status check_kernels(const Plan& plan, Device& device);

}  // namespace baleen::app
