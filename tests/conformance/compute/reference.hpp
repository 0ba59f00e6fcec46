/// \file What every op means, in fp64 and as plainly as possible: sums in index order, whole matrices, no blocks.
#pragma once
#include <string>

#include "conformance/compute/tensor.hpp"

namespace baleen::conformance::reference {

Tensor matmul(const std::string& spec, const Tensor& a, const Tensor& b);
Tensor reduce(const Tensor& x, const std::vector<std::int64_t>& dims, bool keep, bool is_max);
Tensor softmax(const Tensor& x);
/// y, rstd and, for layer norm, mean. `beta` may be null.
std::vector<Tensor> norm(const Tensor& x, const Tensor& gamma, const Tensor* beta, bool layer, double epsilon);

struct AttentionMask {
  bool causal = false;
  const Tensor *ids_q = nullptr, *ids_k = nullptr;
};
/// o and lse.
std::vector<Tensor> attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionMask& mask,
                              double scale);
/// dq, dk and dv, by whole rows of probabilities.
std::vector<Tensor> attention_grad(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionMask& mask,
                                   double scale, const Tensor& d_o);
Tensor embedding(const Tensor& table, const Tensor& ids);
/// loss and lse. `ignore` outside the classes means none is ignored unless a target equals it.
std::vector<Tensor> cross_entropy(const Tensor& x, const Tensor& target, double ignore, double smoothing);
/// x w, w being [D,V] or, transposed, [V,D].
Tensor logits(const Tensor& x, const Tensor& w, bool transposed);

/// d loss / d inputs[which] by central differences of fourth order.
Tensor gradient(const std::function<double(const std::vector<Tensor>&)>& loss, std::vector<Tensor> inputs,
                std::size_t which);
/// The sum of the products of elements.
double inner(const Tensor& a, const Tensor& b);

/// Words of Philox4x32-10.
struct Philox {
  std::uint32_t words[4];
};
Philox philox(std::uint64_t counter_low, std::uint64_t counter_high, std::uint64_t key);

}  // namespace baleen::conformance::reference
