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

/// A plan, and its operands in the order in which addresses are given, none that the graph does not have. Forward q, k,
/// v, o, lse; backward also do, dq, dk, dv. Then numbers: the scale; where causal, what hidden scores are; backward 1.
/// Then scratch in fp32, backward only: delta [batch, heads, queries], and sums [batch, heads, queries, width] of dq.
struct AttentionPlan {
  std::shared_ptr<const DnnPlan> plan;
  std::vector<DnnTensor> operands;
  bool has_sums = false;  ///< not where deterministic
};

/// How much of the batch a plan is made for: all, or backward and deterministic a part without remainder, of which the
/// scores' gradient takes at most 1 GiB where there is one. Each part's statistics begin at a multiple of 16 bytes.
std::int64_t attention_slice(const AttentionShape& shape, bool backward);

/// Bytes of workspace that a plan may take on devices of this compute capability (major * 10 + minor); nothing where
/// cuDNN is not asked because it would take too much. No plan of more is used, so a described device knows it too.
std::optional<std::uint64_t> most_workspace(const AttentionShape& shape, bool backward, int capability);

/// softmax(scale q k^T) v and the logarithms of the sums. UNSUPPORTED where cuDNN has no engine for the shape,
/// NO_MEMORY where it has none that is content with `most` bytes of workspace.
Result<AttentionPlan> plan_attention(Dnn& dnn, const AttentionShape& shape, std::uint64_t most);

/// The gradients. Deterministic, dq is a product with the scores' gradient, which then lies in the plan's workspace
/// (batch x heads x queries x keys, 16 bits each); else parts of dq are added in the order in which they come.
Result<AttentionPlan> plan_attention_grad(Dnn& dnn, const AttentionShape& shape, std::uint64_t most);

}  // namespace baleen::cuda
