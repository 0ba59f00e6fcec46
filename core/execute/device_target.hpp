/// \file A compute plugin's device as code generation sees it.
#pragma once
#include "compiler/codegen/target.hpp"
#include "core/execute/device.hpp"

namespace baleen {

/// Borrows the device, which must outlive the kernels.
class DeviceTarget : public Target {
 public:
  explicit DeviceTarget(const Device& device) : device_(device) {}

  bool supports(const baleen_region_t& region) const override;
  Result<TargetKernel> compile(const baleen_region_t& region) const override;
  std::uint64_t alignment() const override { return device_.alignment(); }

 private:
  const Device& device_;
};

}  // namespace baleen
