/// \file What code generation asks of that for which it generates: two questions and a fact. A device answers them; so
/// can a description of one, where nothing is to run.
#pragma once
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "baleen/compute.h"
#include "baleen/result.hpp"

namespace baleen {

/// A compiled region.
struct TargetKernel {
  std::shared_ptr<void> handle;  ///< goes back to the target with its last holder; null: nothing is to run
  std::uint64_t scratch_bytes = 0;
  double flops = 0;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> aliases;  ///< tensors of the region: output, input
};

class Target {
 public:
  virtual ~Target() = default;
  /// Whether there is a kernel for the region.
  virtual bool supports(const baleen_region_t& region) const = 0;
  /// Compiles it, or begins to. Only asked for what is supported.
  virtual Result<TargetKernel> compile(const baleen_region_t& region) const = 0;
  /// Waits for what was begun of a kernel, before it is launched. Fails as `compile` would have.
  virtual Status finish(const std::shared_ptr<void>& kernel) const {
    static_cast<void>(kernel);
    return {};
  }
  /// Of arena offsets; a power of two.
  virtual std::uint64_t alignment() const = 0;
};

}  // namespace baleen
