/// \file The walk over the graph: one choice per op and axis, conversions as they become necessary.
#include "compiler/placement/passes.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <unordered_map>

#include "baleen/dtype.hpp"
#include "compiler/placement/candidates.hpp"
#include "compiler/placement/split_nesting.hpp"
#include "compiler/placement/value_copies.hpp"

namespace baleen {
namespace {

const Placement& on(const Layout& layout, int axis) { return layout[static_cast<std::size_t>(axis)]; }

class Propagator {
 public:
  Propagator(const Graph& graph, const PlacementRequest& request)
      : graph_(graph),
        request_(request),
        copies_(graph),
        candidates_(graph, request, copies_),
        axes_(static_cast<int>(graph.mesh().axes.size())),
        letters_(graph.op_count()),
        strict_(graph.value_count(), 0) {
    placed_.ops.resize(graph.op_count());
    placed_.layouts.resize(graph.value_count());
  }

  Result<PlacedGraph> run() {
    Phase phase = Phase::forward;
    for (OpId id : graph_.ops()) {
      const Op& op = graph_.op(id);
      if (op.inputs.empty() && op.kind->has(kStructural)) {
        start_source(op);
        continue;
      }
      if (op.phase > phase) enter(phase = op.phase);
      if (op.kind->has(kSideEffect) && op.kind->has(kStructural))
        store(op);
      else if (is_compute_copy(op))
        start_compute_copy(op);
      else
        BALEEN_TRY(visit(op));
    }
    for (const GraphOutput& output : graph_.outputs()) {
      const Layout whole(static_cast<std::size_t>(axes_), Placement::replicate());
      placed_.outputs.push_back(copies_.convert(output.value, whole, graph_.producer(output.value)->phase, kNone));
    }
    placed_.conversions = copies_.take();
    return std::move(placed_);
  }

 private:
  void enter(Phase phase) {
    copies_.forget_gathered();
    if (phase != Phase::update) return;
    for (const auto& [parameter, used] : request_.used)
      if (copies_.known(parameter)) copies_.end_use(parameter);
    std::fill(strict_.begin(), strict_.end(), char{0});
  }

  void start_source(const Op& op) {
    const ValueId v = op.outputs[0];
    Layout layout(static_cast<std::size_t>(axes_), Placement::replicate());
    if (auto pin = request_.pins.find(v); pin != request_.pins.end())
      for (int a = 0; a < axes_; ++a)
        if (const auto& wish = pin->second.placements[static_cast<std::size_t>(a)])
          layout = with_placement(std::move(layout), a, *wish);
    if (auto stored = request_.stored.find(v); stored != request_.stored.end()) layout = stored->second;
    auto used = request_.used.find(v);
    copies_.start(v, layout, used == request_.used.end() ? layout : used->second);
    strict_[v] = graph_.value(v).role == Role::parameter;
    placed_.layouts[v] = layout;
    placed_.ops[op.id] = {std::vector<Choice>(static_cast<std::size_t>(axes_)), {}, {layout}, {}};
  }

  /// A compute copy is computed of what is stored and lies there; who reads it finds it used as its parameter is.
  void start_compute_copy(const Op& op) {
    const ValueId v = op.outputs[0];
    const Layout stored = placed_.layouts[op.inputs[0]];
    copies_.start(v, stored, request_.used.at(v));
    strict_[v] = 1;
    placed_.layouts[v] = stored;
    placed_.ops[op.id] = {std::vector<Choice>(static_cast<std::size_t>(axes_)), {stored}, {stored}, {kNone}};
    pin(op, v, stored);
  }

  /// An assigned value lies as its target does.
  void store(const Op& op) {
    const Layout& target = placed_.layouts[op.inputs[0]];
    OpPlacement& placed = placed_.ops[op.id];
    placed.choices.resize(static_cast<std::size_t>(axes_));
    placed.inputs = {target, target};
    placed.copies = {kNone, copies_.convert(op.inputs[1], target, op.phase, op.id)};
  }

  Status visit(const Op& op) {
    std::shared_ptr<const OpLetters>& letters = alike_[typing_hash(graph_, op)];
    if (!letters) letters = std::make_shared<const OpLetters>(letters_of(graph_, op));
    letters_[op.id] = letters;
    Decided decided{op, *letters, nullptr, nullptr, {}};
    if (op.forward_op != kNone && letters_[op.forward_op] && !placed_.ops[op.forward_op].choices.empty()) {
      decided.forward = letters_[op.forward_op].get();
      decided.forward_choices = &placed_.ops[op.forward_op].choices;
    }
    for (int axis = 0; axis < axes_; ++axis) {
      BALEEN_TRY_ASSIGN(Candidate best, choose(decided, axis));
      decided.chosen.push_back(std::move(best));
    }
    BALEEN_TRY(one_form(decided));
    OpPlacement& placed = placed_.ops[op.id];
    SplitNesting nesting(graph_.mesh(), decided,
                         [&](std::size_t input, const Layout& layout) { return nesting_cost(op, input, layout); });
    nesting.run(placed);
    for (const Candidate& candidate : decided.chosen) placed.choices.push_back(candidate.choice);
    for (std::size_t i = 0; i < op.inputs.size(); ++i)
      placed.copies.push_back(copies_.convert(op.inputs[i], placed.inputs[i], op.phase, op.id));
    record_internal(decided);
    finish(op, placed);
    return {};
  }

  /// A form of its own is lowered by who offers it, as one whole: an op takes one of them.
  Status one_form(const Decided& decided) const {
    const Offer* first = nullptr;
    for (const Candidate& chosen : decided.chosen) {
      const Offer* offer = chosen.offer;
      if (!offer || offer->owner.empty()) continue;
      if (!first) first = offer;
      if (offer->owner == first->owner && offer->place == first->place) continue;
      const auto text = [&](const Offer& one) {
        return "`" + one.name + "` of strategy `" + one.owner + "` along " + names_of(one.axes);
      };
      return unsupported(
          title_of(decided.op) + ": two strategies want to run it in a form of their own, " + text(*first) + " and " +
              text(*offer) +
              "; an op has one such form: leave one of the two out, or choose a mode that leaves the op as it is",
          decided.op.where);
    }
    return {};
  }

  std::string names_of(const std::vector<int>& axes) const {
    std::string text;
    for (const int axis : axes)
      text += (text.empty() ? "`" : " x `") + graph_.mesh().axes[static_cast<std::size_t>(axis)].name + "`";
    return text;
  }

  Result<Candidate> choose(const Decided& decided, int axis) {
    if (graph_.mesh().size(axis) == 1) return whole(decided.op);
    if (auto best = cheapest(decided, axis, candidates_.list(decided, axis))) return *best;
    // The forward op's letter may be one that a whole parameter can be cut along forward, and not backward.
    if (decided.forward_choices)
      if (auto best = cheapest(decided, axis, candidates_.list_without_forward(decided, axis))) return *best;
    return nothing_fits(decided, axis);
  }

  std::optional<Candidate> cheapest(const Decided& decided, int axis, const std::vector<Candidate>& list) {
    const Candidate* best = nullptr;
    double least = 0;
    placed_.candidates += list.size();
    for (const Candidate& candidate : list) {
      if (!reads_parameters_as_used(decided, candidate, axis)) continue;
      const double cost = cost_of(decided, candidate, axis);
      if (best && !better(candidate, cost, *best, least)) continue;
      best = &candidate;
      least = cost;
    }
    return best ? std::optional(*best) : std::nullopt;
  }

  static Candidate whole(const Op& op) {
    return {{}, std::vector<Placement>(op.inputs.size()), std::vector<Placement>(op.outputs.size()), nullptr, nullptr,
            0};
  }

  /// Rule 4. At equal cost above 0 a shard wins; otherwise the earlier in the list.
  static bool better(const Candidate& candidate, double cost, const Candidate& best, double least) {
    constexpr double kSame = 1e-6;
    if (std::abs(cost - least) > kSame) return cost < least;
    if (least <= kSame) return false;
    return candidate.choice.kind == Choice::Kind::shard && best.choice.kind != Choice::Kind::shard;
  }

  /// Rule 2.
  bool reads_parameters_as_used(const Decided& decided, const Candidate& candidate, int axis) const {
    const auto& outputs = decided.letters.iteration->outputs;
    const bool kept = candidate.choice.kind == Choice::Kind::shard &&
                      std::any_of(outputs.begin(), outputs.end(), [&](const std::string& letters) {
                        return letters.find(candidate.choice.letter) != std::string::npos;
                      });
    for (std::size_t i = 0; i < decided.op.inputs.size(); ++i) {
      const ValueId v = decided.op.inputs[i];
      if (!strict_[v]) continue;
      const Placement &have = on(copies_.layout(v), axis), &want = candidate.inputs[i];
      if (have.same_kind(want) || (have.is_at() && want.is_at())) continue;
      if (!(have.is_replicate() && want.cut() && kept)) return false;
    }
    return true;
  }

  double cost_of(const Decided& decided, const Candidate& candidate, int axis) const {
    double cost = candidate.bytes;
    for (std::size_t i = 0; i < decided.op.inputs.size(); ++i)
      cost += copies_.charge(decided.op.inputs[i], axis, candidate.inputs[i]);
    if (candidate.offer && candidate.offer->axes.front() == axis)  // a joint candidate is priced once, for all its axes
      for (std::size_t k = 1; k < candidate.offer->axes.size(); ++k)
        for (std::size_t i = 0; i < decided.op.inputs.size(); ++i)
          cost += copies_.charge(decided.op.inputs[i], candidate.offer->axes[k], candidate.offer->inputs[k][i]);
    if (candidate.internal) cost += internal_bytes(decided, *candidate.internal, axis);
    // A view or a cast of a partial value costs nothing that the value does not, nor what a strategy does to a
    // gradient.
    const bool is_of_gradient =
        decided.op.phase == Phase::backward && decided.op.forward_op == kNone && decided.op.inputs.size() == 1;
    if (decided.op.kind->has(kView) || is_cast(graph_, decided.op) || is_of_gradient) return cost;
    for (std::size_t i = 0; i < decided.op.outputs.size(); ++i)
      if (candidate.outputs[i].is_partial()) cost += resolving(decided, i, axis);
    return cost;
  }

  /// Bytes of an all-reduce over `axis` of what a rank has of result `output`.
  double resolving(const Decided& decided, std::size_t output, int axis) const {
    const Value& value = graph_.value(decided.op.outputs[output]);
    const double elements = elements_on_rank(
        decided, decided.letters.iteration->outputs[output], static_cast<double>(element_count(value.shape)), axis,
        [&](const Candidate& chosen) { return chosen.outputs[output].cut().has_value(); });
    return conversion_bytes(Placement::partial(), Placement::replicate(), elements, dtype_size(value.dtype),
                            graph_.mesh().size(axis));
  }

  /// Bytes of the small all-reduce inside an op.
  double internal_bytes(const Decided& decided, const Iteration::Internal& internal, int axis) const {
    double elements = internal.count;
    for (char c : internal.over)
      if (const Letter* letter = decided.letters.find(c)) elements *= static_cast<double>(letter->extents[0]);
    elements = elements_on_rank(decided, internal.over, elements, axis, [&](const Candidate& chosen) {
      return chosen.choice.kind == Choice::Kind::shard && internal.over.find(chosen.choice.letter) != std::string::npos;
    });
    return conversion_bytes(Placement::partial(), Placement::replicate(), elements,
                            dtype_size(graph_.value(decided.op.outputs[0]).dtype), graph_.mesh().size(axis));
  }

  /// `elements` of something with these letters, divided by each axis other than `axis` that cuts it: as `cut` says of
  /// what was decided, or, where an axis is still to be decided, as the inputs lie by now.
  double elements_on_rank(const Decided& decided, const std::string& letters, double elements, int axis,
                          const std::function<bool(const Candidate&)>& cut) const {
    for (int j = 0; j < axes_; ++j) {
      const auto at = static_cast<std::size_t>(j);
      if (j != axis && (at < decided.chosen.size() ? cut(decided.chosen[at]) : cut_by_inputs(decided, letters, j)))
        elements /= static_cast<double>(graph_.mesh().size(j));
    }
    return elements;
  }

  bool cut_by_inputs(const Decided& decided, const std::string& letters, int axis) const {
    for (std::size_t i = 0; i < decided.op.inputs.size(); ++i) {
      const auto dim = on(copies_.layout(decided.op.inputs[i]), axis).cut();
      if (!dim || letters.empty()) continue;
      const char letter =
          *dim == kFlat ? kAllLetters : decided.letters.iteration->inputs[i][static_cast<std::size_t>(*dim)];
      if (letter == kAllLetters || (letter != '.' && letters.find(letter) != std::string::npos)) return true;
    }
    return false;
  }

  void record_internal(const Decided& decided) {
    for (int a = 0; a < axes_; ++a)
      if (const auto* internal = decided.chosen[static_cast<std::size_t>(a)].internal)
        placed_.internal.push_back({decided.op.id, a, internal_bytes(decided, *internal, a)});
  }

  /// What a nesting of splits costs for one operand; more than anything where a parameter is used otherwise.
  double nesting_cost(const Op& op, std::size_t input, const Layout& layout) const {
    const ValueId v = op.inputs[input];
    if (strict_[v])
      for (int a = 0; a < axes_; ++a)
        if (on(copies_.layout(v), a).cut() && on(copies_.layout(v), a) != on(layout, a)) return INFINITY;
    return copies_.bytes(v, layout);
  }

  /// A parameter seen through a view or a cast, or scaled by numbers, is still that parameter.
  bool is_view_of_parameter(const Op& op) const {
    if (op.phase == Phase::update || op.inputs.empty() || op.outputs.size() != 1 || !strict_[op.inputs[0]])
      return false;
    const bool is_alone = std::all_of(op.inputs.begin() + 1, op.inputs.end(), [&](ValueId v) {
      return op.kind->has(kPointwise) && graph_.value(v).rank() == 0;
    });
    return is_alone && (op.kind->has(kView) || op.kind->has(kPointwise));
  }

  void finish(const Op& op, const OpPlacement& placed) {
    const bool view = is_view_of_parameter(op);
    for (std::size_t i = 0; i < op.outputs.size(); ++i) {
      const ValueId v = op.outputs[i];
      placed_.layouts[v] = placed.outputs[i];
      copies_.start(v, placed.outputs[i]);
      strict_[v] = view;
      pin(op, v, placed.outputs[i]);
    }
  }

  /// All later users see `v`, which lies as `made`, as its pin says, if there is one.
  void pin(const Op& op, ValueId v, const Layout& made) {
    const auto pin = request_.pins.find(v);
    if (pin == request_.pins.end()) return;
    Layout want = made;
    for (int a = 0; a < axes_; ++a)
      if (const auto& wish = pin->second.placements[static_cast<std::size_t>(a)]; wish && !wish->same_kind(on(want, a)))
        want = with_placement(std::move(want), a, *wish);
    want = with_wished_depths(std::move(want), pin->second);
    if (want != made) copies_.pin(v, want, op.phase, pin->second);
  }

  /// Where a pin says how splits nest.
  Layout with_wished_depths(Layout layout, const Pin& pin) const {
    for (int a = 0; a < axes_; ++a)
      if (!pin.placements[static_cast<std::size_t>(a)]) return layout;
    for (int a = 0; a < axes_; ++a) layout[static_cast<std::size_t>(a)] = *pin.placements[static_cast<std::size_t>(a)];
    return canonical(std::move(layout));
  }

  /// The name of the parameter that `v` is or is a view of.
  std::string parameter_of(ValueId v) const {
    const Op* producer = graph_.producer(v);
    while (producer && graph_.value(v).role != Role::parameter && !producer->inputs.empty()) {
      v = producer->inputs[0];
      producer = graph_.producer(v);
    }
    return graph_.value(v).name;
  }

  Error nothing_fits(const Decided& decided, int axis) const {
    const std::string& name = graph_.mesh().axes[static_cast<std::size_t>(axis)].name;
    std::string text = title_of(decided.op) + ": no way to run along the mesh axis `" + name + "`";
    std::string cut;  // the last such parameter
    for (std::size_t i = 0; i < decided.op.inputs.size(); ++i) {
      const ValueId v = decided.op.inputs[i];
      const Placement have = strict_[v] ? on(copies_.layout(v), axis) : Placement::replicate();
      if (have.is_replicate()) continue;
      cut = parameter_of(v);
      text += "; parameter `" + cut + "` " + to_string(graph_.value(v).shape) + " is " + in_words(have);
      const auto dim = have.cut();
      const std::string& operand = decided.letters.iteration->inputs[i];
      if (!dim || *dim < 0 || static_cast<std::size_t>(*dim) >= operand.size()) continue;
      const Letter* letter = decided.letters.find(operand[static_cast<std::size_t>(*dim)]);
      if (!letter) {
        text += ", a dimension along which this op cannot be cut";
      } else if (const std::string why = candidates_.why_not(decided, axis, *letter); !why.empty()) {
        text += ", and " + why;
      }
    }
    // What a user can do, or else who writes strategies.
    text += !cut.empty() ? ". Keep it whole with parallel.layout { name = \"" + cut + "\", axis = \"" + name +
                               "\", placement = \"replicate\" } in the script"
                         : "; the strategy of `" + name + "` may allow the logical axis, or offer this op a candidate";
    return unsupported(std::move(text), decided.op.where);
  }

  const Graph& graph_;
  const PlacementRequest& request_;
  ValueCopies copies_;
  Candidates candidates_;
  int axes_;
  std::vector<std::shared_ptr<const OpLetters>> letters_;                      ///< by op
  std::unordered_map<std::uint64_t, std::shared_ptr<const OpLetters>> alike_;  ///< by `typing_hash`
  std::vector<char> strict_;  ///< by value: a parameter, or a view of one (rule 2)
  PlacedGraph placed_;
};

}  // namespace

Result<PlacedGraph> propagate(const Graph& graph, const PlacementRequest& request) {
  BALEEN_TRY_ASSIGN(const PlacementRequest whole, complete_request(graph, request));
  return Propagator(graph, whole).run();
}

}  // namespace baleen
