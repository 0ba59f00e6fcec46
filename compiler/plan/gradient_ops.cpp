/// \file What a strategy puts between a gradient and its sum.
#include <algorithm>
#include <set>

#include "compiler/plan/passes.hpp"

namespace baleen {
namespace {

class GradientOps {
 public:
  GradientOps(Graph& graph, OpId first, const LossGradients& gradients) : graph_(graph), first_(first) {
    for (const LossGradients::One& one : gradients.all)
      if (one.gradient != kNone) need(one.gradient);
  }

  Status run() {
    std::vector<OpId> order;
    const std::vector<OpId> before = graph_.ops();
    for (const OpId id : before)
      if (needed_.contains(id) && commutes(graph_.op(id))) {
        graph_.op(id).phase = Phase::backward;
        moved_.insert(id);
      }
    if (moved_.empty()) return {};
    for (const OpId id : before)
      if (!moved_.contains(id)) put(id, order);
    return graph_.reorder(order);
  }

 private:
  bool is_new(ValueId v) const { return graph_.value(v).producer >= first_; }

  /// New ops that make `v`.
  void need(ValueId v) {
    std::vector<ValueId> waiting{v};
    while (!waiting.empty()) {
      const ValueId next = waiting.back();
      waiting.pop_back();
      if (!is_new(next) || !needed_.insert(graph_.value(next).producer).second) continue;
      for (const ValueId input : graph_.producer(next)->inputs) waiting.push_back(input);
    }
  }

  /// Whether it may be done to each rank's and each micro-batch's part alone.
  bool commutes(const Op& op) const {
    if (!op.kind->iteration || op.phase == Phase::forward) return false;
    std::vector<std::uint32_t> parts;
    for (std::uint32_t i = 0; i < op.inputs.size(); ++i) {
      const Op& producer = *graph_.producer(op.inputs[i]);
      if (producer.phase == Phase::update && !producer.inputs.empty()) return false;
      if (producer.phase == Phase::backward) parts.push_back(i);
    }
    return std::ranges::any_of(iteration_of(graph_, op).linear, [&](std::vector<std::uint32_t> set) {
      std::ranges::sort(set);
      return set == parts;
    });
  }

  /// And behind it what was moved and reads nothing that is still to come.
  void put(OpId id, std::vector<OpId>& order) {
    order.push_back(id);
    placed_.insert(id);
    for (const ValueId made : graph_.op(id).outputs)
      for (const OpId user : std::vector<OpId>(graph_.value(made).users))
        if (moved_.contains(user) && !placed_.contains(user) &&
            std::ranges::all_of(graph_.op(user).inputs,
                                [&](ValueId v) { return placed_.contains(graph_.value(v).producer); }))
          put(user, order);
  }

  Graph& graph_;
  const OpId first_;
  std::set<OpId> needed_, moved_, placed_;
};

}  // namespace

Status hasten_gradient_ops(Graph& graph, OpId first, const LossGradients& gradients) {
  return GradientOps(graph, first, gradients).run();
}

}  // namespace baleen
