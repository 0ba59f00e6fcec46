/// \file Which of two kernels of a region takes less time on this device.
#include "kernels.hpp"
#include "product.hpp"

namespace baleen::cuda {
namespace {

std::uint64_t bytes_of(const baleen_tensor_t& tensor) {
  std::int64_t last = 0;
  for (std::uint32_t d = 0; d < tensor.rank; ++d) last += (tensor.shape[d] - 1) * tensor.stride[d];
  return static_cast<std::uint64_t>(last + 1) * dtype_size(tensor.dtype);
}

std::string text_of(const baleen_tensor_t& tensor) {
  std::string text = std::string(dtype_name(tensor.dtype)) + " " + shape_text(tensor) + " by";
  for (std::uint32_t d = 0; d < tensor.rank; ++d) text += " " + std::to_string(tensor.stride[d]);
  return text;
}

}  // namespace

bool is_faster(const Context& context, const baleen_region_t& region, const std::string& what, const Kernel& one,
               const Kernel& other) {
  if (!context.blas || !context.blas->tuner()) return false;
  if (one.flops < kLeastMeasuredFlops) return false;
  std::string key = what + ", cuBLASLt " + context.blas->version();
  std::vector<std::uint64_t> bytes;
  for (std::uint64_t i = 0; i < region.tensor_count; ++i) {
    key += "\n" + text_of(region.tensors[i]);
    bytes.push_back(bytes_of(region.tensors[i]));
  }
  bytes.push_back(std::max(one.scratch_bytes, other.scratch_bytes));
  const std::string names[] = {"one call", "several kernels"};
  return context.blas->tuner()->fastest(
             key, names, bytes, [&](std::size_t which, CUstream stream, std::span<void* const> buffers) {
               const baleen_launch_t call{sizeof call, stream, buffers.data(), buffers.back(), 0, 0, 0};
               const Status enqueued = (which == 0 ? one : other).run(Launch{context.driver, stream, call, {}});
               return static_cast<bool>(enqueued);
             }) == 1;
}

}  // namespace baleen::cuda
