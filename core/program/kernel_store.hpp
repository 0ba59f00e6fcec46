/// \file The compiled kernels of a program.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "core/program/device.hpp"
#include "core/program/program.hpp"
#include "core/program/region_view.hpp"

namespace baleen {

/// A kernel with what the plan needs to know of it.
struct CompiledKernel {
  void* handle = nullptr;
  std::uint64_t scratch_bytes = 0;
  std::vector<LowValue> operands;                      ///< per tensor; kNone where no address is needed
  std::vector<std::pair<LowValue, LowValue>> aliases;  ///< output, input: may have the same bytes
  Work work = {};
};

/// Owns kernels and gives them back to the device, which must outlive this.
class KernelStore {
 public:
  explicit KernelStore(const Device& device) : device_(&device) {}
  KernelStore(const KernelStore&) = delete;
  KernelStore& operator=(const KernelStore&) = delete;
  ~KernelStore();

  bool supports(const RegionView& region) const;
  /// The error names the layer.
  Result<std::uint32_t> compile(const RegionView& region, const Op& anchor);
  const CompiledKernel& operator[](std::uint32_t number) const { return kernels_[number]; }
  /// Whether a kernel may write `output` into the bytes of `input`, being the only thing that it reads there.
  bool may_alias(std::uint32_t number, LowValue output, LowValue input) const;

 private:
  const Device* device_;
  std::vector<CompiledKernel> kernels_;
};

}  // namespace baleen
