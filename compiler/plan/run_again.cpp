/// \file Copies forward ops into the backward pass.
#include "compiler/plan/passes.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "compiler/placement/passes.hpp"

namespace baleen {
namespace {

class Copier {
 public:
  Copier(Graph& graph, const std::vector<OpId>& ops) : graph_(graph), wanted_(ops.begin(), ops.end()) {}

  Status run() {
    for (const OpId id : wanted_) BALEEN_TRY(check(id));
    const std::vector<OpId> order = graph_.ops();
    find_needed(order);
    for (const OpId id : order)
      if (needed_.contains(id)) BALEEN_TRY(copy_needed(id));
    BALEEN_TRY(redirect_readers());
    return graph_.order_by_need(order);
  }

 private:
  Status check(OpId id) const {
    if (id >= graph_.op_count() || !graph_.op(id).live) return invalid("there is no op number " + std::to_string(id));
    const Op& op = graph_.op(id);
    const std::string what = "op " + std::to_string(id) + " (" + op.kind->name + ", `" + op.name + "`) ";
    if (op.phase != Phase::forward) return invalid(what + "is of another pass than forward: it cannot run again");
    if (!op.kind->has(kPure) || (op.kind->has(kStructural) && op.inputs.empty()))
      return invalid(what + "has nothing that could run again");
    if (!op.schedule->owner.empty())
      return invalid(what + "is lowered by strategy `" + op.schedule->owner + "`: it cannot run again");
    return {};
  }

  /// Of the wanted ops those that a backward op reads, or a copy of another.
  void find_needed(const std::vector<OpId>& order) {
    const auto reads = [&](OpId user) { return graph_.op(user).phase == Phase::backward || needed_.contains(user); };
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
      if (!wanted_.contains(*it)) continue;
      for (const ValueId v : graph_.op(*it).outputs)
        if (std::any_of(graph_.value(v).users.begin(), graph_.value(v).users.end(), reads)) needed_.insert(*it);
    }
  }

  Status copy_needed(OpId id) {
    std::vector<ValueId> inputs;
    for (const ValueId v : Ids(graph_.op(id).inputs)) {
      BALEEN_TRY_ASSIGN(const ValueId own, as_backward_sees(v));
      inputs.push_back(own);
    }
    return copy(id, inputs);
  }

  /// The copy of a value; of a parameter that was gathered, one that is gathered again.
  Result<ValueId> as_backward_sees(ValueId v) {
    if (const auto found = copies_.find(v); found != copies_.end()) return found->second;
    if (!is_gathered(v)) return v;
    const OpId producer = graph_.value(v).producer;
    BALEEN_TRY_ASSIGN(const ValueId source, as_backward_sees(graph_.op(producer).inputs[0]));
    BALEEN_TRY(copy(producer, {source}));
    return copies_.at(v);
  }

  /// A parameter behind a collective, and views and casts on the way. One that is gathered once and stays (it is still
  /// the parameter behind the collective, as compute copies are) is there in the backward pass.
  bool is_gathered(ValueId v) const {
    for (bool sent = false;;) {
      const Op& op = *graph_.producer(v);
      if (graph_.value(v).role == Role::parameter && op.kind->has(kCollective)) return false;
      if (graph_.value(v).role == Role::parameter && (op.inputs.empty() || is_compute_copy(op))) return sent;
      if (op.inputs.size() != 1 || op.outputs.size() != 1 || op.phase != Phase::forward) return false;
      if (!op.kind->has(kCollective) && !op.kind->has(kView) && !is_cast(graph_, op)) return false;
      sent = sent || op.kind->has(kCollective);
      v = op.inputs[0];
    }
  }

  /// One that the backward pass has already is taken: equal ops of a phase are merged.
  Status copy(OpId id, const std::vector<ValueId>& inputs) {
    const Op original = graph_.op(id);
    graph_.context() = {Phase::backward, id, original.name, original.where};
    const auto before = static_cast<OpId>(graph_.op_count());
    BALEEN_TRY_ASSIGN(const auto results,
                      graph_.append(original.kind->name, inputs, original.attributes, original.name));
    const OpId made = graph_.value(results[0]).producer;
    if (made >= before) {
      graph_.op(made).tags = original.tags;
      graph_.op(made).schedule = original.schedule;
      graph_.op(made).schedule.edit().recomputed = true;
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
      const ValueId first = original.outputs[i];
      graph_.value(results[i]).layout = graph_.value(first).layout;
      graph_.value(results[i]).role = graph_.value(first).role;
      copies_[first] = results[i];
    }
    return {};
  }

  Status redirect_readers() {
    for (const auto& [first, again] : copies_) {
      if (!needed_.contains(graph_.value(first).producer)) continue;  // gathered: its readers have their own
      for (const OpId user : Ids(graph_.value(first).users)) {
        if (graph_.op(user).phase != Phase::backward) continue;
        const Ids inputs = graph_.op(user).inputs;
        for (std::size_t i = 0; i < inputs.size(); ++i)
          if (inputs[i] == first) BALEEN_TRY(graph_.set_input(user, i, again));
      }
    }
    return {};
  }

  Graph& graph_;
  const std::set<OpId> wanted_;
  std::set<OpId> needed_;
  std::map<ValueId, ValueId> copies_;  ///< by the first
};

}  // namespace

Status run_again(Graph& graph, const std::vector<OpId>& ops) { return Copier(graph, ops).run(); }

}  // namespace baleen
