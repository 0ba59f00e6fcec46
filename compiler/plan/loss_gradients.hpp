/// \file The gradients of a job's loss between differentiation and the update, with what strategies said about them.
#pragma once
#include "compiler/plan/plan.hpp"

namespace baleen {

/// A persistent tensor with its first value.
struct NewState {
  PersistentSpec spec;
  double initial = 0;
};

struct LossGradients {
  /// Of one parameter; kNone where it is frozen, or the loss does not depend on it.
  struct One {
    ValueId gradient = kNone;  ///< as ranks sum it and micro-batches add it up
    ValueId value = kNone;     ///< what clipping and the optimizer read, made of it
  };
  ValueId seed = kNone;       ///< the loss's own cotangent
  std::vector<One> all;       ///< in the order of `job.parameters`
  ValueId norm = kNone;       ///< of all values; kNone: nobody has asked yet
  ValueId condition = kNone;  ///< the update counts where it is not 0; kNone: always
  std::vector<NewState> states;
  std::vector<StopRule> stops;
};

/// The gradient of the loss with respect to the trainable parameters: d(sum/weight).
Result<LossGradients> differentiate_loss(Graph& graph, const Job& job);

/// The norm of all values, as output "gradient_norm": per-tensor sums of squares, added in parameter order.
Result<ValueId> append_norm(Graph& graph, const Job& job, LossGradients& gradients);

}  // namespace baleen
