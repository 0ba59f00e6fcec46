/// \file What a strategy may do in `gradients`: the table of strategy.h over the gradients of a job.
#pragma once
#include "baleen/strategy.h"
#include "compiler/plan/loss_gradients.hpp"

namespace baleen {

/// Writes what one strategy says into the gradients. Borrows all; lives during one call of the strategy.
class GradientVerbs {
 public:
  GradientVerbs(Graph& graph, const Job& job, LossGradients& gradients);
  GradientVerbs(const GradientVerbs&) = delete;
  GradientVerbs& operator=(const GradientVerbs&) = delete;

  const baleen_gradients_t* table() const { return &table_; }
  /// The first verb that was refused, if any.
  const Status& status() const { return status_; }
  /// A scalar state, which every rank holds and updates alike.
  Result<ValueId> add_state(const std::string& name, const ValueType& type, double initial);

 private:
  template <class Verb>
  baleen_status_t run(Verb&& verb);
  Status read(std::uint64_t number, baleen_gradient_t& out) const;
  Status replace(std::uint64_t number, ValueId gradient, ValueId value);
  Status apply(ValueId condition);
  Status show(const std::string& name, ValueId scalar);
  Status stop(ValueId condition, std::string text);
  Status check_scalar(ValueId value, const char* what) const;
  static GradientVerbs& self(void* pointer) { return *static_cast<GradientVerbs*>(pointer); }

  Graph& graph_;
  const Job& job_;
  LossGradients& gradients_;
  std::vector<std::size_t> trained_;  ///< numbers of the job's parameters that have a gradient
  baleen_gradients_t table_{};
  Status status_;
};

}  // namespace baleen
