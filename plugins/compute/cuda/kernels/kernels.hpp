/// \file The makers of all kernels.
#pragma once
#include "kernel.hpp"

namespace baleen::cuda {

Result<std::unique_ptr<Kernel>> make_matmul(const Context&, const baleen_region_t&);
/// A region for which is_fused_product() holds.
Result<std::unique_ptr<Kernel>> make_fused_product(const Context&, const baleen_region_t&);
/// A region for which product_and_sum() finds them.
Result<std::unique_ptr<Kernel>> make_product_and_sum(const Context&, const baleen_region_t&);
Result<std::unique_ptr<Kernel>> make_pointwise(const Context&, const baleen_region_t&);
Result<std::unique_ptr<Kernel>> make_accumulate(const Context&, const baleen_region_t&);
Result<std::unique_ptr<Kernel>> make_reduce(const Context&, const baleen_region_t&);
Result<std::unique_ptr<Kernel>> make_softmax(const Context&, const baleen_region_t&);
Result<std::unique_ptr<Kernel>> make_softmax_grad(const Context&, const baleen_region_t&);
Result<std::unique_ptr<Kernel>> make_norm(const Context&, const baleen_region_t&);
/// Also of a region with a `norm_grad_and_sum`; whether rows like those of the sum have a kernel that adds.
Result<std::unique_ptr<Kernel>> make_norm_grad(const Context&, const baleen_region_t&);
bool norm_grad_adds(const Operand& sum);
Result<std::unique_ptr<Kernel>> make_attention(const Context&, const baleen_region_t&);
Result<std::unique_ptr<Kernel>> make_attention_grad(const Context&, const baleen_region_t&);
Result<std::unique_ptr<Kernel>> make_embedding(const Context&, const baleen_region_t&);
Result<std::unique_ptr<Kernel>> make_embedding_grad(const Context&, const baleen_region_t&);
Result<std::unique_ptr<Kernel>> make_cross_entropy(const Context&, const baleen_region_t&);
Result<std::unique_ptr<Kernel>> make_cross_entropy_grad(const Context&, const baleen_region_t&);
Result<std::unique_ptr<Kernel>> make_linear_cross_entropy(const Context&, const baleen_region_t&);
Result<std::unique_ptr<Kernel>> make_linear_cross_entropy_grad(const Context&, const baleen_region_t&);
Result<std::unique_ptr<Kernel>> make_linear_cross_entropy_and_grad(const Context&, const baleen_region_t&);
Result<std::unique_ptr<Kernel>> make_top_k(const Context&, const baleen_region_t&);
Result<std::unique_ptr<Kernel>> make_reshape(const Context&, const baleen_region_t&);
Result<std::unique_ptr<Kernel>> make_transpose(const Context&, const baleen_region_t&);
Result<std::unique_ptr<Kernel>> make_slice(const Context&, const baleen_region_t&);
Result<std::unique_ptr<Kernel>> make_concat(const Context&, const baleen_region_t&);
Result<std::unique_ptr<Kernel>> make_pad(const Context&, const baleen_region_t&);
Result<std::unique_ptr<Kernel>> make_copy(const Context&, const baleen_region_t&);

/// Whether the region is one op of a kind that brings a kernel for its tensors itself; and that kernel.
bool brings_text(const DeviceLimits& limits, const baleen_region_t& region);
Result<std::unique_ptr<Kernel>> make_of_kind(const Context&, const baleen_region_t&);

/// attention and its gradient by cuDNN; takes `own` for launches whose addresses do not suit it. Null, with `own`
/// untouched, where cuDNN does not take the region.
std::unique_ptr<Kernel> make_dnn_attention(const Context&, const baleen_region_t&, std::unique_ptr<Kernel>& own);

/// Whether `other` takes less time than `one` for the region, which `what` names. Measured once on this device and
/// kept, where algorithms are measured too and the region has work enough; else false. Finishes `other` to measure it.
bool is_faster(const Context&, const baleen_region_t&, const std::string& what, const Kernel& one, Kernel& other);

/// Runs a library's kernel of the region once, where none of this key was.
void warm_up(const Context&, const baleen_region_t&, const std::string& key, const Kernel& kernel);

/// An op of a region of several.
Result<std::unique_ptr<Kernel>> make_matmul(const Context&, const Source&);
Result<std::unique_ptr<Kernel>> make_reduce(const Context&, const Source&);

/// Of a region that `is_sum_of_squares`.
Result<std::unique_ptr<Kernel>> make_sum_of_squares(const Context&, const baleen_region_t&);
/// Of a region that `is_largest_magnitude`.
Result<std::unique_ptr<Kernel>> make_largest_magnitude(const Context&, const baleen_region_t&);

/// A pointwise op with operands of the caller's choice.
Result<std::unique_ptr<Kernel>> make_pointwise(const Context&, const Source&, std::vector<Operand> inputs,
                                               std::vector<Operand> outputs);

/// Whether what a product is added to has the result's dtype.
bool matmul_fits(const DeviceLimits& limits, const baleen_region_t& region);
/// Whether the attention's tiles fit the device's shared memory.
bool attention_fits(const DeviceLimits& limits, const baleen_region_t& region);
/// Whether the sums of norm_grad do.
bool norm_grad_fits(const DeviceLimits& limits, const baleen_region_t& region);

}  // namespace baleen::cuda
