/// \file A compute plugin's device as code generation sees it.
#pragma once
#include <optional>

#include "baleen/compile_ahead.h"
#include "compiler/codegen/target.hpp"
#include "core/execute/device.hpp"

namespace baleen {

/// Borrows the device, which must outlive the kernels.
class DeviceTarget : public Target {
 public:
  explicit DeviceTarget(const Device& device)
      : device_(device), ahead_(device.extension<baleen_compile_ahead_t>(BALEEN_COMPILE_AHEAD)) {}

  bool supports(const baleen_region_t& region) const override;
  Result<TargetKernel> compile(const baleen_region_t& region) const override;
  Status finish(const std::shared_ptr<void>& kernel) const override;
  std::uint64_t alignment() const override { return device_.alignment(); }

 private:
  const Device& device_;
  std::optional<baleen_compile_ahead_t> ahead_;
};

}  // namespace baleen
