/// \file The compiled kernels of a program.
#pragma once
#include <string>
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
  /// `whose`: for messages, with its verb.
  explicit KernelStore(const Target& target, std::string whose = "the device has")
      : target_(target), whose_(std::move(whose)) {}
  KernelStore(const KernelStore&) = delete;

  bool supports(const RegionView& region) const { return target_.supports(*region.get()); }
  std::uint64_t alignment() const { return target_.alignment(); }
  const std::string& whose() const { return whose_; }
  /// Compiles it, or begins to. The error names the layer.
  Result<std::uint32_t> compile(const RegionView& region, const Op& anchor);
  /// Waits for all that was begun. The error is that of the kernel that was asked for first.
  Status finish();
  const std::vector<CompiledKernel>& all() const { return kernels_; }
  const CompiledKernel& operator[](std::uint32_t number) const { return kernels_[number]; }
  /// Whether a kernel may write `output` into the bytes of `input`, being the only thing that it reads there.
  bool may_alias(std::uint32_t number, LowValue output, LowValue input) const;

 private:
  /// Of an op, for errors.
  struct Asker {
    std::string name, where;
    Error tell(Error error) const;
  };

  const Target& target_;
  const std::string whose_;
  std::vector<CompiledKernel> kernels_;
  std::vector<Asker> askers_;  ///< of the kernels
};

}  // namespace baleen
