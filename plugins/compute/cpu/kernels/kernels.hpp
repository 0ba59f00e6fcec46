/// \file The makers of all kernels.
#pragma once
#include "kernel.hpp"

namespace baleen::cpu {

Result<std::unique_ptr<Kernel>> make_matmul(const Context&, const baleen_region_t&);
Result<std::unique_ptr<Kernel>> make_pointwise(const Context&, const baleen_region_t&);
Result<std::unique_ptr<Kernel>> make_reduce(const Context&, const baleen_region_t&);
/// Of a region that `is_sum_of_squares`.
Result<std::unique_ptr<Kernel>> make_sum_of_squares(const Context&, const baleen_region_t&);
/// Of a region that `is_largest_magnitude`.
Result<std::unique_ptr<Kernel>> make_largest_magnitude(const Context&, const baleen_region_t&);
Result<std::unique_ptr<Kernel>> make_softmax(const Context&, const baleen_region_t&);
Result<std::unique_ptr<Kernel>> make_softmax_grad(const Context&, const baleen_region_t&);
Result<std::unique_ptr<Kernel>> make_norm(const Context&, const baleen_region_t&);
/// Also of a region with a `norm_grad_and_sum`.
Result<std::unique_ptr<Kernel>> make_norm_grad(const Context&, const baleen_region_t&);
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
Result<std::unique_ptr<Kernel>> make_accumulate(const Context&, const baleen_region_t&);

/// Whether the region is one op of a kind that brings a kernel of its own; and that kernel.
bool brings_kernel(const baleen_region_t& region);
Result<std::unique_ptr<Kernel>> make_of_kind(const Context&, const baleen_region_t&);

}  // namespace baleen::cpu
