/// \file Has the target compile regions, and numbers the kernels.
#include "compiler/codegen/kernel_store.hpp"

#include <algorithm>

#include "baleen/dtype.hpp"

namespace baleen {
namespace {

/// Bytes of all operands that have an address. Elements that a stride of 0 repeats count once.
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

Error KernelStore::Asker::tell(Error error) const {
  error.message = name + ": " + error.message;
  if (error.where.empty()) error.where = where;
  return error;
}

Result<std::uint32_t> KernelStore::compile(const RegionView& region, const Op& anchor) {
  const std::string by = anchor.kind->table ? " of the plugin `" + anchor.kind->schema->plugin + "`" : "";
  const std::string kind = anchor.kind->name + by;
  Asker asker{anchor.name.empty() ? kind : anchor.name + " (" + kind + ")", anchor.where};
  if (!supports(region)) return asker.tell(unsupported(whose_ + " no kernel for this"));
  auto made = target_.compile(*region.get());
  if (!made) return asker.tell(made.error());
  CompiledKernel kernel{std::move(made->handle), made->scratch_bytes, region.values(), {}, {}};
  for (std::size_t i = 0; i < kernel.operands.size(); ++i) {
    const auto flags = region.tensors()[i].flags;
    if (!(flags & (BALEEN_TENSOR_EXTERNAL_INPUT | BALEEN_TENSOR_OUTPUT))) kernel.operands[i] = kNone;
    kernel.writes.push_back((flags & BALEEN_TENSOR_OUTPUT) != 0);
  }
  for (const auto& [output, input] : made->aliases)
    kernel.aliases.emplace_back(region.values()[output], region.values()[input]);
  kernel.work = {made->flops, bytes_of(region, kernel.operands)};
  kernels_.push_back(std::move(kernel));
  askers_.push_back(std::move(asker));
  return static_cast<std::uint32_t>(kernels_.size() - 1);
}

Status KernelStore::finish() {
  for (std::size_t i = 0; i < kernels_.size(); ++i)
    if (Status done = target_.finish(kernels_[i].handle); !done) return askers_[i].tell(done.error());
  return {};
}

bool KernelStore::may_alias(std::uint32_t number, LowValue output, LowValue input) const {
  const auto& aliases = kernels_[number].aliases;
  return std::find(aliases.begin(), aliases.end(), std::pair{output, input}) != aliases.end();
}

}  // namespace baleen
