/// \file Small jobs for tests of plans, with gradients, and the plugins of this build.
#pragma once
#include "compiler/plan/job.hpp"
#include "compiler/plan/passes.hpp"
#include "core/plugin/registry.hpp"
#include "unit/compiler/codegen/graphs.hpp"

namespace baleen::test {

/// The plugins that were built.
const Registry& plugins();

/// Targets of this class are masked: neither in the loss nor in its weight.
inline constexpr std::int64_t kMasked = 2;

/// A GPT of one block: embedding and positions, attention with grouped heads, dropout, an MLP, norms with
/// gains, a head. Inputs "tokens" and "targets" [batch, 4]; outputs "loss", a sum, and "weight", the number of unmasked
/// targets. Optimizer sgd with momentum.
Job gpt_job(std::int64_t batch, baleen_dtype_t dtype = BALEEN_F64);

/// Two parameters, "up.weight" [3, 4] and "up.bias" [4], on input "x" [batch, 3]; the loss is the sum of squares, the
/// weight the batch. Optimizer sgd, rate 0.1.
Job affine_job(std::int64_t batch, baleen_dtype_t dtype = BALEEN_F64);

/// A job's train graph as the plan leaves it before it is cut: fused kinds, gradients (outputs "gradient.<name>"),
/// update.
struct TrainGraph {
  Graph graph;
  UpdateResult update;
};
Result<TrainGraph> train_graph(Job job);

}  // namespace baleen::test
