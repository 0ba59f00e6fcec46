/// \file The compiled kernels of a program.
#pragma once
#include <utility>
#include <vector>

#include "compiler/codegen/executable.hpp"
#include "compiler/codegen/region_view.hpp"
#include "compiler/codegen/target.hpp"

namespace baleen {

/// A kernel with what the plan needs to know of it.
struct CompiledKernel {
  std::shared_ptr<void> handle;
  std::uint64_t scratch_bytes = 0;
  std::vector<LowValue> operands;                      ///< per tensor; kNone where no address is needed
  std::vector<bool> writes;                            ///< per tensor
  std::vector<std::pair<LowValue, LowValue>> aliases;  ///< output, input: may have the same bytes
  Work work = {};
};

/// Has the target, which must outlive this, compile regions, and numbers the kernels.
class KernelStore {
 public:
  explicit KernelStore(const Target& target) : target_(target) {}
  KernelStore(const KernelStore&) = delete;

  bool supports(const RegionView& region) const { return target_.supports(*region.get()); }
  std::uint64_t alignment() const { return target_.alignment(); }
  /// The error names the layer.
  Result<std::uint32_t> compile(const RegionView& region, const Op& anchor);
  const std::vector<CompiledKernel>& all() const { return kernels_; }
  const CompiledKernel& operator[](std::uint32_t number) const { return kernels_[number]; }
  /// Whether a kernel may write `output` into the bytes of `input`, being the only thing that it reads there.
  bool may_alias(std::uint32_t number, LowValue output, LowValue input) const;

 private:
  const Target& target_;
  std::vector<CompiledKernel> kernels_;
};

}  // namespace baleen
