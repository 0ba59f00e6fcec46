/// \file What strategies ask for in `place`, and what propagation answers: plain data. The rules are in docs/design.md,
/// Propagation.
#pragma once
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiler/graph/graph.hpp"
#include "compiler/layout/conversion.hpp"

namespace baleen {

/// A wish for a value's layout: axes without one stay as the value's op leaves them.
struct Pin {
  std::vector<std::optional<Placement>> placements;  ///< per mesh axis
  /// Convert in each micro-batch (an accumulation buffer that lies as the state does) rather than once, after
  /// accumulation.
  bool every_micro_batch = false;
  std::set<int> each_along = {};  ///< the axes along which that is so; none: all
};

/// A further candidate for an op along one or more mesh axes (SUMMA, ring attention). Who offers it lowers it.
struct Offer {
  OpId op = kNone;
  std::string name;       ///< a backward op takes the offer of the name that its forward op took
  std::string owner;      ///< the strategy; its `lower` finds ops by it
  std::vector<int> axes;  ///< mesh axes it decides, ascending
  /// Per listed axis, a placement per input and per result.
  std::vector<std::vector<Placement>> inputs, outputs;
  double bytes = 0;           ///< sent per rank, over its axes
  bool exclusive = false;     ///< the op has no other candidate on these axes
  std::string strategy = {};  ///< who offers it, lowered or not; for messages
  std::size_t place = 0;      ///< of the strategy in the plan: two of one name differ by it
};

/// The values of one trained parameter.
struct TrainedParameter {
  ValueId parameter = kNone, gradient = kNone;
  std::vector<ValueId> states;
  /// Of states of another form: per dimension the parameter's that it follows, -1: none.
  std::map<ValueId, std::vector<int>> follows = {};
};

/// How a state lies along one mesh axis, where its parameter lies so: alike where it has the parameter's shape, cut
/// where it follows the dimension that is cut, else whole. Nothing where the two have no dimension in common.
std::optional<Placement> following(const Graph& graph, const TrainedParameter& trained, ValueId state,
                                   const Placement& parameter);

/// What a strategy says a value costs, in closed form (strategy.h); no pass reads it.
struct ClosedForm {
  enum class What { held, left, sent } what = What::held;
  ValueId value = kNone;
  std::vector<int> axes;  ///< of the mesh, ascending
  double times = 1;
  std::string formula;  ///< "zero: 12 P/N (...)"
};

/// What all strategies together ask for. Filled in plan order; layouts are canonical.
struct PlacementRequest {
  /// Per mesh axis: the logical axes that it may cut (rule 1); "": dimensions without one. None: the axis only follows
  /// pins and offers.
  std::vector<std::vector<std::string>> cuts;
  std::map<ValueId, Layout> used;    ///< parameters, in forward and backward; absent: replicated
  std::map<ValueId, Layout> stored;  ///< parameters (absent: used) and states (absent: as their parameter is used)
  /// Of values in `stored`: the mesh axes along which nobody has said how, so that what holds for absent ones holds.
  std::map<ValueId, std::set<int>> open_axes = {};
  std::map<ValueId, Pin> pins;  ///< inputs, activations, gradients
  std::vector<Offer> offers;
  std::vector<TrainedParameter> trained;  ///< their gradients are pinned to their states' layout (rule 6)
  std::vector<ClosedForm> closed_forms = {};
};

/// In place of a letter: every operand of full shape is cut flat.
inline constexpr char kAllLetters = '*';

/// What an op does along one mesh axis.
struct Choice {
  enum class Kind { replicate, shard, partial, offer };
  Kind kind = Kind::replicate;
  char letter = 0;          ///< shard: of the op's iteration; kAllLetters: all dimensions as one
  std::uint32_t index = 0;  ///< partial: which linear set; offer: which of the request's

  friend bool operator==(const Choice&, const Choice&) = default;
};

/// A copy of a value in another layout, made by collectives.
struct Conversion {
  ValueId value = kNone;
  std::uint32_t source = kNone;  ///< the conversion whose result it starts from; kNone: the value itself
  Layout from, to;
  std::vector<Step> steps;
  Phase phase = Phase::forward;
  OpId user = kNone;  ///< the op that first needs it; kNone: a pin or an output
  bool pin = false;   ///< every later user sees the copy in place of the value
  bool every_micro_batch = false;
  std::set<int> each_along = {};  ///< as the pin has it; steps behind the last along these run once

  /// Whether a step runs in every micro-batch.
  bool is_each(std::size_t step) const {
    return every_micro_batch &&
           (each_along.empty() ||
            std::any_of(steps.begin() + static_cast<std::ptrdiff_t>(step), steps.end(), [&](const Step& s) {
              return std::any_of(s.axes.begin(), s.axes.end(), [&](int axis) { return each_along.contains(axis); });
            }));
  }
};

/// A small reduction inside an op that shards a letter which it reduces itself (norm statistics).
struct InternalReduction {
  OpId op = kNone;
  int axis = 0;
  double bytes = 0;
};

struct OpPlacement {
  std::vector<Choice> choices;          ///< per mesh axis
  std::vector<Layout> inputs, outputs;  ///< what it reads and makes
  std::vector<std::uint32_t> copies;    ///< per input: the conversion that it reads; kNone: the value itself
};

/// The answer. Lists by id are as long as the graph's.
struct PlacedGraph {
  std::vector<OpPlacement> ops;         ///< by op
  std::vector<Layout> layouts;          ///< by value, as its op makes it
  std::vector<Conversion> conversions;  ///< in the order in which they are first needed
  std::vector<InternalReduction> internal;
  std::vector<std::uint32_t> outputs;  ///< per graph output: the conversion that makes it whole; kNone: it is
  std::uint64_t candidates = 0;        ///< how many were priced: the work it was
};

}  // namespace baleen
