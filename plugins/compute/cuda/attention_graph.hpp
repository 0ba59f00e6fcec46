/// \file Attention as graphs of cuDNN's: composite, so that its fused engines take them with a causal mask.
#pragma once
#include "dnn_graph.hpp"

namespace baleen::cuda {

/// What a plan of attention depends on. Strides of [batch, sequence, heads, width] are given as batch, head, sequence,
/// width; lse is [batch, heads, queries].
struct AttentionShape {
  std::int64_t batch = 0, heads = 0, groups = 0, queries = 0, keys = 0, width = 0;
  cudnnDataType_t type = CUDNN_DATA_BFLOAT16;
  bool causal = false;
  bool deterministic = true;
  DnnExtents q{}, k{}, v{}, o{};
  std::array<std::int64_t, 3> lse{};
  DnnExtents d_o{}, dq{}, dk{}, dv{};  ///< backward

  std::string key() const;
};

/// Which the graphs' stored tensors and numbers are, in the order in which addresses are given.
enum AttentionForwardOperand { kForwardQ, kForwardK, kForwardV, kForwardO, kForwardLse, kForwardScale, kForwardNever };
enum AttentionBackwardOperand {
  kBackwardQ,
  kBackwardK,
  kBackwardV,
  kBackwardO,
  kBackwardLse,
  kBackwardDo,
  kBackwardDq,
  kBackwardDk,
  kBackwardDv,
  kBackwardScale,
  kBackwardNever,
  kBackwardOne,
  kBackwardDelta,  ///< scratch: fp32 [batch, heads, queries]
  kBackwardSums    ///< scratch: fp32 [batch, heads, queries, width]; absent where deterministic
};

/// A plan, and the numbers of its operands in the orders above.
struct AttentionPlan {
  std::shared_ptr<const DnnPlan> plan;
  std::vector<DnnTensor> operands;
};

/// Bytes of workspace that a plan may take; nothing where cuDNN is not asked because it would take too much. No plan of
/// more is used, so a described device knows it too.
std::optional<std::uint64_t> most_workspace(const AttentionShape& shape, bool backward);

/// softmax(scale q k^T) v and the logarithms of the sums. UNSUPPORTED where cuDNN has no engine for the shape.
Result<AttentionPlan> plan_attention(Dnn& dnn, const AttentionShape& shape);

/// The gradients. Deterministic, dq is a product with the scores' gradient, which then lies in the plan's workspace
/// (batch x heads x queries x keys, 16 bits each); else parts of dq are added in the order in which they come.
Result<AttentionPlan> plan_attention_grad(Dnn& dnn, const AttentionShape& shape);

}  // namespace baleen::cuda
