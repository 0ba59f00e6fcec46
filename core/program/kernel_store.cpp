/// \file Has the device compile regions, and owns the kernels.
#include "core/program/kernel_store.hpp"

#include <algorithm>

#include "baleen/dtype.hpp"

namespace baleen {
namespace {

/// Of all that has an address, as far as strides do not repeat it.
std::uint64_t bytes_of(const RegionView& region, const std::vector<LowValue>& operands) {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i] == kNone) continue;
    const baleen_tensor_t& tensor = region.tensors()[i];
    std::uint64_t elements = 1;
    for (std::uint32_t d = 0; d < tensor.rank; ++d)
      if (tensor.stride[d] != 0) elements *= static_cast<std::uint64_t>(tensor.shape[d]);
    bytes += elements * dtype_size(tensor.dtype);
  }
  return bytes;
}

}  // namespace

KernelStore::~KernelStore() {
  for (const CompiledKernel& kernel : kernels_) device_->table().release(device_->handle(), kernel.handle);
}

bool KernelStore::supports(const RegionView& region) const {
  return device_->table().supports(device_->handle(), region.get()) != 0;
}

Result<std::uint32_t> KernelStore::compile(const RegionView& region, const Op& anchor) {
  auto fail = [&](Error error) {
    error.message = anchor.name + " (" + anchor.kind->name + "): " + error.message;
    if (error.where.empty()) error.where = anchor.where;
    return error;
  };
  baleen_kernel_t made{};
  made.size = sizeof(made);
  if (!supports(region)) return fail(unsupported("the device has no kernel for this"));
  if (Status ok = device_->check(device_->table().compile(device_->handle(), region.get(), &made)); !ok)
    return fail(std::move(ok).error());
  CompiledKernel kernel{made.kernel, made.scratch_bytes, region.values(), {}};
  for (std::size_t i = 0; i < kernel.operands.size(); ++i)
    if (!(region.tensors()[i].flags & (BALEEN_TENSOR_EXTERNAL_INPUT | BALEEN_TENSOR_OUTPUT)))
      kernel.operands[i] = kNone;
  for (std::uint64_t i = 0; i < made.alias_count; ++i)
    kernel.aliases.emplace_back(region.values()[made.aliases[i].output], region.values()[made.aliases[i].input]);
  kernel.work = {made.flops, bytes_of(region, kernel.operands)};
  kernels_.push_back(std::move(kernel));
  return static_cast<std::uint32_t>(kernels_.size() - 1);
}

bool KernelStore::may_alias(std::uint32_t number, LowValue output, LowValue input) const {
  const auto& aliases = kernels_[number].aliases;
  return std::find(aliases.begin(), aliases.end(), std::pair{output, input}) != aliases.end();
}

}  // namespace baleen
