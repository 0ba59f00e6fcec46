/// \file Chunks and passes of the ops of a loop: what a pipeline schedule takes apart.
#include <algorithm>
#include <optional>

#include "compiler/plan/passes.hpp"

namespace baleen {
namespace {

using Pass = MicroPart::Pass;

/// The forward op whose gradient a weight gradient is of; kNone while only conversions and sums have been met.
class WeightGradients {
 public:
  WeightGradients(const Graph& graph, const std::function<bool(OpId)>& in_loop)
      : graph_(graph), in_loop_(in_loop), of_(graph.op_count()) {
    const std::vector<OpId> order = graph.ops();
    for (auto id = order.rbegin(); id != order.rend(); ++id) of_[*id] = visit(graph.op(*id));
  }

  bool has(OpId id) const { return of_[id].has_value(); }

 private:
  /// From the sums over micro-batches back to the first op that has a forward op, and what belongs to that one alone.
  std::optional<OpId> visit(const Op& op) const {
    if (op.phase != Phase::backward || !in_loop_(op.id)) return {};
    if (op.kind->name == "accumulate_micro") return kNone;
    if (op.kind->name == "send") return {};  // others may wait for it long before this rank comes to its gradients
    OpId found = op.forward_op;
    bool used = false;
    for (const ValueId v : op.outputs)
      for (const OpId user : graph_.value(v).users) {
        if (!of_[user]) return {};
        used = true;
        const OpId own = *of_[user];
        if (own != kNone && found != kNone && own != found) return {};
        if (own != kNone) found = own;
      }
    return used ? std::optional(found) : std::nullopt;
  }

  const Graph& graph_;
  const std::function<bool(OpId)>& in_loop_;
  std::vector<std::optional<OpId>> of_;
};

class Chunks {
 public:
  Chunks(const Graph& graph, const std::function<bool(OpId)>& in_loop)
      : graph_(graph),
        in_loop_(in_loop),
        of_(graph.op_count(), 0),
        arrived_(graph.op_count()),
        unread_(graph.op_count()) {}

  Result<std::vector<int>> find() {
    for (const OpId id : graph_.ops()) last_ = std::max(last_, graph_.op(id).schedule->chunk.value_or(0));
    for (const OpId id : graph_.ops()) {
      const Op& op = graph_.op(id);
      if (!in_loop_(id)) continue;
      of_[id] = op.schedule->chunk ? *op.schedule->chunk : by_default(op);
      arrived_[id] = !op.schedule->chunk && reads_arrived(op);
    }
    const std::vector<OpId> order = graph_.ops();
    for (auto id = order.rbegin(); id != order.rend(); ++id) serve_readers(graph_.op(*id));
    for (const OpId id : order)
      if (unread_[id]) of_[id] = by_default(graph_.op(id));
    for (const OpId id : order)
      if (in_loop_(id)) BALEEN_TRY(check(graph_.op(id)));
    return std::move(of_);
  }

 private:
  static bool goes_back(const Op& op) { return op.phase != Phase::forward; }

  /// Ops of the same direction whose results it reads.
  std::vector<OpId> producers(const Op& op) const {
    std::vector<OpId> found;
    for (const ValueId v : op.inputs) {
      const OpId producer = graph_.value(v).producer;
      if (in_loop_(producer) && goes_back(graph_.op(producer)) == goes_back(op)) found.push_back(producer);
    }
    return found;
  }

  int by_default(const Op& op) const {
    if (goes_back(op) && op.forward_op != kNone && op.forward_op < of_.size()) return of_[op.forward_op];
    std::optional<int> chunk;
    for (const OpId producer : producers(op))
      chunk = !chunk          ? of_[producer]
              : goes_back(op) ? std::min(*chunk, of_[producer])
                              : std::max(*chunk, of_[producer]);
    return chunk.value_or(goes_back(op) ? last_ : 0);  // the backward pass begins with the last chunk
  }

  /// Is it about a value that another coordinate has sent, or made of one?
  bool reads_arrived(const Op& op) const {
    return std::ranges::any_of(producers(op),
                               [&](OpId id) { return arrived_[id] || graph_.op(id).kind->name == "send"; });
  }

  /// Nobody said where it belongs: it is there when the first of its readers comes. In the forward pass that holds for
  /// what is made of a value behind its arrival: in the sender's chunk the receiver would wait for it long before. What
  /// the backward pass alone reads of it stands where the rest does.
  void serve_readers(const Op& op) {
    if (!in_loop_(op.id) || op.schedule->chunk || !(goes_back(op) || arrived_[op.id])) return;
    std::optional<int> first;
    for (const ValueId v : op.outputs)
      for (const OpId reader : graph_.value(v).users) {
        if (!in_loop_(reader) || unread_[reader] || goes_back(graph_.op(reader)) != goes_back(op)) continue;
        first = !first ? of_[reader] : goes_back(op) ? std::max(*first, of_[reader]) : std::min(*first, of_[reader]);
      }
    if (first) of_[op.id] = std::max(of_[op.id], *first);
    unread_[op.id] = !first && !goes_back(op);
  }

  Status check(const Op& op) const {
    for (const OpId producer : producers(op))
      if (goes_back(op) ? of_[producer] < of_[op.id] : of_[producer] > of_[op.id])
        return invalid("`" + op.name + "` (" + op.kind->name + ") is of chunk " + std::to_string(of_[op.id]) +
                           " and needs `" + graph_.op(producer).name + "` (" + graph_.op(producer).kind->name +
                           ") of chunk " + std::to_string(of_[producer]) +
                           ", which comes later; chunks ascend in the forward pass and descend in the backward pass",
                       op.where);
    return {};
  }

  const Graph& graph_;
  const std::function<bool(OpId)>& in_loop_;
  std::vector<int> of_;
  std::vector<char> arrived_;  ///< by op: it stands behind a send in the same pass, and no strategy said where
  std::vector<char> unread_;   ///< by op: the same, and nothing in this pass reads what it makes
  int last_ = 0;
};

}  // namespace

Result<std::vector<MicroPart>> find_parts(const Graph& graph, const std::function<bool(OpId)>& in_loop, bool weights) {
  BALEEN_TRY_ASSIGN(const std::vector<int> chunks, Chunks(graph, in_loop).find());
  std::optional<WeightGradients> apart;
  if (weights) apart.emplace(graph, in_loop);
  std::vector<MicroPart> parts(graph.op_count());
  for (const OpId id : graph.ops()) {
    if (!in_loop(id)) continue;
    const bool forward = graph.op(id).phase == Phase::forward;
    parts[id] = {forward                   ? Pass::forward
                 : apart && apart->has(id) ? Pass::weight_gradients
                                           : Pass::backward,
                 chunks[id]};
  }
  return parts;
}

}  // namespace baleen
