/// \file Walks a graph once and decides what is cut along `micro`, what is partial, a sum or a maximum, and where it
/// accumulates.
#include "compiler/plan/passes.hpp"

#include <algorithm>
#include <optional>
#include <set>

namespace baleen {
namespace {

bool is_batch_input(const Value& value) {
  return value.role == Role::input && value.rank() > 0 && value.axis(0) == "batch";
}

std::int64_t nearest_divisor(std::int64_t batch, std::int64_t count) {
  std::int64_t best = 1;
  for (std::int64_t d = 1; d <= batch; ++d)
    if (batch % d == 0 && std::abs(d - count) < std::abs(best - count)) best = d;
  return best;
}

/// Walks the graph once in topological order and decides each value's placement on `micro`.
class MicroSharder {
 public:
  using Dimensions = std::map<ValueId, std::size_t>;

  /// `drawn`: values of no inputs that are cut along a dimension, and `needed_whole`: partial values that are
  /// accumulated in any case; both as earlier walks found.
  MicroSharder(Graph& graph, std::int64_t count, Dimensions drawn, std::set<ValueId> needed_whole = {})
      : graph_(graph), count_(count), drawn_(std::move(drawn)), needed_whole_(std::move(needed_whole)) {}

  Status run() {
    const std::vector<OpId> order = graph_.ops();
    for (OpId id : order) {
      const Op& op = graph_.op(id);
      for (ValueId v : op.outputs) graph_.value(v).layout.resize(graph_.mesh().axes.size());
      BALEEN_TRY(op.inputs.empty() ? visit_source(op) : visit(id));
      for (ValueId v : graph_.op(id).outputs) barriers_[v] = most_barriers(graph_.op(id).inputs);
    }
    for (const GraphOutput& output : std::vector(graph_.outputs())) {
      BALEEN_TRY_ASSIGN(const ValueId value, whole(output.value));
      if (placement(value).is_shard())
        return unsupported("output `" + output.name + "` has a batch dimension and cannot be cut into micro-batches");
      graph_.set_output(output.name, value);
    }
    // At the end a sum would hold back its readers, and what reads no sum would come before them.
    return graph_.order_by_need(order);
  }

  /// The partial values that the walk accumulated.
  std::set<ValueId> accumulated() const {
    std::set<ValueId> result;
    for (const auto& [partial, whole] : whole_) result.insert(partial);
    return result;
  }

  /// What `drawn` is to have besides, so that a walk that was refused gets further; empty: that would change nothing.
  const Dimensions& to_draw() const { return to_draw_; }

 private:
  const Placement& placement(ValueId v) const { return graph_.value(v).layout.back(); }
  /// Cuts before the other axes do.
  void place(ValueId v, Placement p) {
    Layout& layout = graph_.value(v).layout;
    layout.back() = p;
    layout = canonical(std::move(layout));
    if (!p.is_shard()) return;
    std::vector<int> order = split_order(layout, p.argument);
    const int micro = static_cast<int>(layout.size()) - 1;
    std::erase(order, micro);
    order.insert(order.begin(), micro);
    layout = with_order(std::move(layout), p.argument, order);
  }
  /// A new value that lies as `like` does, but for `micro`.
  void place_like(ValueId v, ValueId like, Placement p) {
    graph_.value(v).layout = graph_.value(like).layout;
    place(v, p);
  }

  Error refuse(const Op& op, const std::string& why) const {
    return unsupported(title_of(op) + " " + why +
                           ": the batch cannot be cut into micro-batches here; take gradient_accumulation_steps = 1 "
                           "(and no pipeline, which needs more), or compute it of each row by itself",
                       op.where);
  }

  Status visit_source(const Op& op) {
    Value& value = graph_.value(op.outputs[0]);
    if (is_batch_input(value)) place(value.id, Placement::shard(0));
    if (const auto dim = drawn_.find(value.id); dim != drawn_.end())
      place(value.id, Placement::shard(static_cast<int>(dim->second)));
    return {};
  }

  Status visit(OpId id) {
    bool sharded = false, partial = false;
    for (ValueId v : graph_.op(id).inputs) {
      sharded |= placement(v).is_shard();
      partial |= placement(v).is_partial();
    }
    if (sharded) return cut(id);
    if (partial) return pass_or_resolve(id);
    return {};
  }

  /// Some input is sharded: the op runs per micro-batch.
  Status cut(OpId id) {
    const Op& op = graph_.op(id);
    if (!op.kind->iteration) return refuse(op, "mixes all elements of its inputs");
    const Iteration letters = iteration_of(graph_, op);
    BALEEN_TRY_ASSIGN(const char letter, cut_letter(op, letters));
    for (std::size_t i = 0; i < graph_.op(id).inputs.size(); ++i) {
      const ValueId v = graph_.op(id).inputs[i];
      const std::size_t dim = letters.inputs[i].find(letter);
      // What is computed in pieces reads the sums itself.
      const bool in_pieces = dim != std::string::npos && graph_.value(v).shape[dim] != 1;
      if (placement(v).is_partial() && !in_pieces) {
        BALEEN_TRY_ASSIGN(const ValueId resolved, whole(v));
        BALEEN_TRY(graph_.set_input(id, i, resolved));
      }
      BALEEN_TRY(cut_input(id, i, dim));
    }
    const Op& now = graph_.op(id);
    BALEEN_TRY(check_merged(now, letters, letter));
    for (std::size_t i = 0; i < now.outputs.size(); ++i) {
      const auto dim = letters.outputs[i].find(letter);
      if (dim != std::string::npos) BALEEN_TRY(check_part(now, graph_.value(now.outputs[i]).shape[dim]));
      const Placement part = is_maximum(now) ? Placement::partial_max() : Placement::partial();
      place(now.outputs[i], dim == std::string::npos ? part : Placement::shard(static_cast<int>(dim)));
    }
    return {};
  }

  /// Values of a local region have a rank's part of the batch, which is cut further.
  Status check_part(const Op& op, std::int64_t rows) const {
    if (rows % count_ == 0) return {};
    return invalid(title_of(op) + ": a rank's part of the batch, " + std::to_string(rows) +
                       " rows, does not divide into " + std::to_string(count_) +
                       " micro-batches; take a batch that divides by ranks times micro-batches",
                   op.where);
  }

  /// A reshape joins the rows of a micro-batch with another dimension, or parts them, rank by rank: where ranks have
  /// unlike numbers of rows, these are not evenly cut any more when they are joined.
  Status check_merged(const Op& op, const Iteration& letters, char letter) const {
    if (op.kind->name != "reshape") return {};
    const Value &from = graph_.value(op.inputs[0]), &to = graph_.value(op.outputs[0]);
    const std::size_t in = letters.inputs[0].find(letter), out = letters.outputs[0].find(letter);
    if (in == std::string::npos || out == std::string::npos || from.shape[in] == to.shape[out]) return {};
    const std::int64_t rows = std::min(from.shape[in], to.shape[out]) / count_;
    std::int64_t ranks = 1;
    for (std::size_t axis = 0; axis + 1 < from.layout.size(); ++axis)
      if (from.layout[axis].cut() == static_cast<int>(in)) ranks *= graph_.mesh().size(static_cast<int>(axis));
    if (rows % ranks == 0) return {};
    return invalid(title_of(op) + ": a micro-batch has " + std::to_string(rows) + (rows == 1 ? " row" : " rows") +
                       " for " + std::to_string(ranks) +
                       " ranks, which cannot share them evenly where rows are joined with another dimension; take a " +
                       "batch that divides by ranks times micro-batches",
                   op.where);
  }

  Result<char> cut_letter(const Op& op, const Iteration& letters) const {
    std::optional<char> letter;
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      const Placement& p = placement(op.inputs[i]);
      if (!p.is_shard()) continue;
      const char here = letters.inputs[i][static_cast<std::size_t>(p.argument)];
      if (here == '.') return refuse(op, "mixes the batch");
      if (letter && *letter != here) return refuse(op, "combines the batch with another dimension");
      letter = here;
    }
    for (const auto& internal : letters.internal)
      if (internal.letter == *letter && !is_maximum(op)) return refuse(op, "reduces over the batch");
    return *letter;
  }

  /// Input `index` must be sharded along `dim` (npos: it lacks the letter and stays whole).
  Status cut_input(OpId id, std::size_t index, std::size_t dim) {
    const ValueId v = graph_.op(id).inputs[index];
    if (dim == std::string::npos || graph_.value(v).shape[dim] == 1) {
      if (placement(v).is_shard()) return refuse(graph_.op(id), "needs the whole batch of one input");
      return {};
    }
    if (placement(v).is_shard()) {
      if (static_cast<std::size_t>(placement(v).argument) != dim)
        return refuse(graph_.op(id), "needs another dimension cut");
      return {};
    }
    BALEEN_TRY_ASSIGN(const ValueId sharded, computed_in_pieces(v, dim, id));
    return graph_.set_input(id, index, sharded);
  }

  /// A copy of a whole or partial value that is computed per micro-batch: possible for pointwise values (masks, random
  /// numbers, the gradient of a mean over the batch) and what is pointwise of such, also where they come from other
  /// ranks.
  Result<ValueId> computed_in_pieces(ValueId v, std::size_t dim, OpId user) {
    const Op* producer = graph_.producer(v);
    if (producer && producer->kind->has(kStructural) && producer->attributes.has("from")) {
      const Op conversion = *producer;
      BALEEN_TRY_ASSIGN(const ValueId piece, computed_in_pieces(conversion.inputs[0], dim, user));
      return piece_of_copy(conversion, piece, v, dim, conversion.attributes);
    }
    if (const auto at = kept_dimension(producer, dim)) {
      const Op view = *producer;
      BALEEN_TRY_ASSIGN(const ValueId piece, inner_piece(view.inputs[0], *at, user));
      return piece_of_copy(view, piece, v, dim, view.attributes);
    }
    if (!producer || !producer->kind->has(kPointwise) || producer->outputs.size() != 1) {
      if (Dimensions sources; comes_from_draws(v, dim, sources)) to_draw_ = std::move(sources);
      return refuse(graph_.op(user), "reads a value with a batch dimension that is not a batch input");
    }
    if (const auto found = pieces_.find({v, dim}); found != pieces_.end()) return found->second;
    Op copy = *producer;
    for (ValueId& x : copy.inputs) {
      const bool is_batch = graph_.value(x).rank() > 0 && graph_.value(x).shape[dim] != 1;
      BALEEN_TRY_ASSIGN(x, is_batch ? inner_piece(x, dim, user) : whole(x));
    }
    Attributes attributes = copy.attributes;
    // Of this value: another one may be computed alike and lie otherwise.
    attributes.set("copy", Attributes::ints({static_cast<std::int64_t>(dim), static_cast<std::int64_t>(v)}));
    return piece_of_copy(std::move(copy), kNone, v, dim, std::move(attributes));
  }

  /// Which dimension of its input a dimension of a reshape's result is, where it is one as it stands.
  std::optional<std::size_t> kept_dimension(const Op* op, std::size_t dim) const {
    if (!op || op->kind->name != "reshape" || !op->kind->iteration) return std::nullopt;
    const Iteration letters = iteration_of(graph_, *op);
    const char letter = letters.outputs[0][dim];
    const std::size_t at = letter == '.' ? std::string::npos : letters.inputs[0].find(letter);
    if (at == std::string::npos) return std::nullopt;
    if (graph_.value(op->inputs[0]).shape[at] != graph_.value(op->outputs[0]).shape[dim]) return std::nullopt;
    return at;
  }

  /// Whether a dimension of a value is that of random numbers or coordinates alone, through ops that keep it: these
  /// `sources` may be made per micro-batch, and then what is computed from them is.
  bool comes_from_draws(ValueId v, std::size_t dim, Dimensions& sources) const {
    const Op* producer = graph_.producer(v);
    if (!producer || !producer->kind->iteration) return false;
    if (producer->inputs.empty()) {
      if (!producer->kind->has(kPointwise)) return false;
      const auto [at, is_new] = sources.insert({v, dim});
      return at->second == dim && !drawn_.contains(v);
    }
    const Iteration letters = iteration_of(graph_, *producer);
    const auto own = static_cast<std::size_t>(std::ranges::find(producer->outputs, v) - producer->outputs.begin());
    const char letter = letters.outputs[own][dim];
    bool any = false;
    for (std::size_t i = 0; i < producer->inputs.size(); ++i) {
      const std::size_t at = letter == '.' ? std::string::npos : letters.inputs[i].find(letter);
      if (at == std::string::npos || graph_.value(producer->inputs[i]).shape[at] == 1) continue;
      if (!comes_from_draws(producer->inputs[i], at, sources)) return false;
      any = true;
    }
    return any;
  }

  /// What several values are computed from is there once.
  Result<ValueId> inner_piece(ValueId v, std::size_t dim, OpId user) {
    BALEEN_TRY_ASSIGN(const ValueId piece, computed_in_pieces(v, dim, user));
    pieces_[{v, dim}] = piece;
    return piece;
  }

  /// The op once more, in each micro-batch; of `input` in place of its own, if there is one.
  Result<ValueId> piece_of_copy(Op copy, ValueId input, ValueId like, std::size_t dim, Attributes attributes) {
    if (input != kNone) copy.inputs = {input};
    graph_.context() = {copy.phase, copy.forward_op, copy.name, copy.where};
    BALEEN_TRY_ASSIGN(const auto results, graph_.append(copy.kind->name, copy.inputs, std::move(attributes)));
    place_like(results[0], like, Placement::shard(static_cast<int>(dim)));
    barriers_[results[0]] = most_barriers(copy.inputs);
    return results[0];
  }

  /// How many loops must be over before a value is there.
  int most_barriers(const Ids& values) const {
    int most = 0;
    for (ValueId v : values)
      if (auto it = barriers_.find(v); it != barriers_.end()) most = std::max(most, it->second);
    return most;
  }

  /// Whether the other inputs are there in the loop that makes the partial ones. If not, passing partial would compute
  /// these once more in a later loop (a gradient that is clipped by its own norm).
  bool others_in_time(const Op& op) const {
    std::vector<ValueId> partial, others;
    for (ValueId v : op.inputs) (placement(v).is_partial() ? partial : others).push_back(v);
    return most_barriers(others) <= most_barriers(partial);
  }

  /// No input is sharded, some are partial: pass partial where the op is linear in just these. Not where one of them is
  /// accumulated anyway: the result would need an accumulator of its own.
  Status pass_or_resolve(OpId id) {
    std::vector<std::uint32_t> partial;
    const Op& op = graph_.op(id);
    for (std::uint32_t i = 0; i < op.inputs.size(); ++i)
      if (placement(op.inputs[i]).is_partial()) partial.push_back(i);
    const bool sums = std::all_of(partial.begin(), partial.end(),
                                  [&](std::uint32_t i) { return placement(op.inputs[i]) == Placement::partial(); });
    const bool accumulated = std::any_of(partial.begin(), partial.end(),
                                         [&](std::uint32_t i) { return needed_whole_.contains(op.inputs[i]); });
    // The update reads sums over all micro-batches: a gradient is added up as it is, not as the update scales it.
    if (op.kind->iteration && op.phase != Phase::update && sums && !accumulated && others_in_time(op)) {
      for (auto set : iteration_of(graph_, op).linear) {
        std::sort(set.begin(), set.end());
        if (set != partial) continue;
        for (ValueId v : op.outputs) place(v, Placement::partial());
        return {};
      }
    }
    for (std::uint32_t i : partial) {
      BALEEN_TRY_ASSIGN(const ValueId resolved, whole(graph_.op(id).inputs[i]));
      BALEEN_TRY(graph_.set_input(id, i, resolved));
    }
    return {};
  }

  /// The accumulated value of a partial one; others are returned as they are.
  Result<ValueId> whole(ValueId v) {
    if (!placement(v).is_partial()) return v;
    if (auto it = whole_.find(v); it != whole_.end()) return it->second;
    const Op* producer = graph_.producer(v);
    const Phase phase = producer->phase;
    graph_.context() = {phase, kNone, producer->name, producer->where};
    Attributes attributes;
    if (placement(v) == Placement::partial_max()) attributes.set("reduction", std::string("max"));
    BALEEN_TRY_ASSIGN(const ValueId result, graph_.append1("accumulate_micro", {v}, std::move(attributes)));
    place_like(result, v, Placement::replicate());
    const Role role = graph_.value(v).role;
    // A sum over micro-batches in the backward pass is a gradient, or a part of one that is still to be reduced.
    graph_.value(result).role = role == Role::activation && phase == Phase::backward ? Role::gradient : role;
    graph_.value(result).offloaded_ahead = graph_.value(v).offloaded_ahead;
    graph_.value(result).offloaded_piece = graph_.value(v).offloaded_piece;
    whole_[v] = result;
    barriers_[result] = most_barriers({v}) + 1;
    return result;
  }

  Graph& graph_;
  std::int64_t count_;
  Dimensions drawn_, to_draw_;  ///< by value: the dimension that is cut
  std::set<ValueId> needed_whole_;
  std::map<ValueId, ValueId> whole_;
  std::map<std::pair<ValueId, std::size_t>, ValueId> pieces_;  ///< by value and dimension: of those that others read
  std::map<ValueId, int> barriers_;
};

}  // namespace

Status check_batch(const Graph& graph, std::int64_t micro_batches) {
  for (const OpId id : graph.ops())
    for (const ValueId v : graph.op(id).outputs) {
      const Value& value = graph.value(v);
      if (!is_batch_input(value) || value.shape[0] % micro_batches == 0) continue;
      return invalid("input `" + value.name + "`: a batch of " + std::to_string(value.shape[0]) +
                     " does not divide into " + std::to_string(micro_batches) + " micro-batches; take a batch of " +
                     std::to_string((value.shape[0] / micro_batches + 1) * micro_batches) + ", or accumulate over " +
                     std::to_string(nearest_divisor(value.shape[0], micro_batches)));
    }
  return {};
}

Status shard_micro(Graph& graph, std::int64_t micro_batches) {
  if (micro_batches == 1) return {};
  BALEEN_TRY(check_batch(graph, micro_batches));
  Mesh mesh = graph.mesh();
  mesh.axes.push_back({kMicroAxis, micro_batches});
  graph.set_mesh(std::move(mesh));
  // Values keep their numbers, so what a walk over a copy finds holds for the graph itself.
  MicroSharder::Dimensions drawn;
  std::set<ValueId> accumulated;
  for (bool found = false; !found;) {
    Graph draft = graph;
    MicroSharder first(draft, micro_batches, drawn);
    const Status cut = first.run();
    if (!cut && first.to_draw().empty()) return cut;
    found = static_cast<bool>(cut);
    drawn.insert(first.to_draw().begin(), first.to_draw().end());
    accumulated = first.accumulated();
  }
  BALEEN_TRY(MicroSharder(graph, micro_batches, drawn, accumulated).run());
  graph.remove_dead();  // what has copies in pieces alone
  return {};
}

}  // namespace baleen
