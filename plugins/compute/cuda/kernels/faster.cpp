/// \file Kernels of a region run at compile time: which of two takes less time on this device, and warming up.
#include "kernels.hpp"
#include "product.hpp"
#include "warm_up.hpp"

namespace baleen::cuda {
namespace {

std::string text_of(const baleen_tensor_t& tensor) {
  std::string text = std::string(dtype_name(tensor.dtype)) + " " + shape_text(tensor) + " by";
  for (std::uint32_t d = 0; d < tensor.rank; ++d) text += " " + std::to_string(tensor.stride[d]);
  return text;
}

std::uint64_t bytes_of(const baleen_tensor_t& tensor) {
  std::int64_t last = 0;
  for (std::uint32_t d = 0; d < tensor.rank; ++d) last += (tensor.shape[d] - 1) * tensor.stride[d];
  return static_cast<std::uint64_t>(last + 1) * dtype_size(tensor.dtype);
}

/// Of the region's tensors, and of the scratch behind them.
std::vector<std::uint64_t> trial_bytes(const baleen_region_t& region, std::uint64_t scratch) {
  std::vector<std::uint64_t> bytes;
  for (std::uint64_t i = 0; i < region.tensor_count; ++i) bytes.push_back(bytes_of(region.tensors[i]));
  bytes.push_back(scratch);
  return bytes;
}

/// With memory of these sizes.
Status run_trial(const Context& context, const Kernel& kernel, CUstream stream, std::span<void* const> buffers) {
  const baleen_launch_t call{sizeof call, stream, buffers.data(), buffers.back(), 0, 0, 0};
  return kernel.run(Launch{context.driver, stream, call, {}});
}

}  // namespace

void warm_up(const Context& context, const baleen_region_t& region, const std::string& key, const Kernel& kernel) {
  if (!context.warm_up) return;
  context.warm_up->run(
      key, trial_bytes(region, kernel.scratch_bytes), [&](CUstream stream, std::span<void* const> buffers) {
        static_cast<void>(run_trial(context, kernel, stream, buffers));  // a launch tells what is wrong
      });
}

bool is_faster(const Context& context, const baleen_region_t& region, const std::string& what, const Kernel& one,
               Kernel& other) {
  if (!context.blas || !context.blas->tuner()) return false;
  if (one.flops < kLeastMeasuredFlops) return false;
  std::string key = what + ", cuBLASLt " + context.blas->version();
  for (std::uint64_t i = 0; i < region.tensor_count; ++i) key += "\n" + text_of(region.tensors[i]);
  const auto bytes = trial_bytes(region, std::max(one.scratch_bytes, other.scratch_bytes));
  const std::string names[] = {"one call", "several kernels"};
  return context.blas->tuner()->fastest(
             key, names, bytes, [&](std::size_t which, CUstream stream, std::span<void* const> buffers) {
               if (which == 1 && !other.finish()) return false;
               return static_cast<bool>(run_trial(context, which == 0 ? one : other, stream, buffers));
             }) == 1;
}

}  // namespace baleen::cuda
