/// \file Describes each rank by small numbers, one per fact that may set ranks apart, and compares the descriptions.
#include "frontend/engine/rank_classes.hpp"

#include <map>
#include <set>
#include <string>
#include <tuple>

#include "compiler/layout/conversion.hpp"
#include "compiler/layout/piece.hpp"

namespace baleen {
namespace {

using Signature = std::vector<std::int64_t>;

/// Facts of a graph that depend on a rank's coordinates, each once.
class Facts {
 public:
  Facts(const Graph& graph, Roles roles) : graph_(graph), roles_(roles) {
    for (OpId id : graph.ops()) collect(graph.op(id));
  }

  /// Appends the facts of the rank at `at`.
  void append(const Coordinates& at, Signature& to) const {
    for (const auto& [shape, layout] : pieces_) append_piece(piece_of(shape, layout, graph_.mesh(), at), to);
    for (const auto& [shape, from, there] : moves_)
      to.push_back(
          common_elements(piece_of(shape, from, graph_.mesh(), at), piece_of(shape, there, graph_.mesh(), at)));
    for (const int axis : ends_) {
      const std::int64_t own = at[static_cast<std::size_t>(axis)];
      to.push_back(own == 0 ? 0 : own == graph_.mesh().size(axis) - 1 ? 1 : 2);
    }
    for (const auto& [axis, inputs] : picks_) {
      const auto own = static_cast<std::size_t>(at[static_cast<std::size_t>(axis)]);
      to.push_back(own < inputs.size() ? static_cast<std::int64_t>(inputs[own]) : -1);
    }
    for (const auto& [call, times] : roots_) {
      const auto own = times.find(place(call.axes, at));
      to.push_back(own == times.end() ? 0 : own->second);
    }
  }

 private:
  /// Calls with a root, alike but for that.
  struct Rooted {
    std::vector<std::int64_t> axes;
    std::string kind;
    Shape shape;
    auto operator<=>(const Rooted&) const = default;
  };

  void collect(const Op& op) {
    for (ValueId v : op.outputs)
      if (const Value& value = graph_.value(v); !is_whole(value.layout)) pieces_.emplace(value.shape, value.layout);
    const bool converts = op.attributes.has("from");
    if (converts) moves_.emplace(graph_.value(op.inputs[0]).shape, layout_of(op.inputs[0]), layout_of(op.outputs[0]));
    if (converts && op.kind->name == to_string(CollectiveOp::take_partial))
      for (const std::int64_t axis : op.attributes.integers("axes")) ends_.insert(static_cast<int>(axis));
    if (roles_ == Roles::ignored) return;
    if (op.kind->name == "pick") picks_.emplace(static_cast<int>(op.attributes.integer("axes")), op.inputs);
    if (op.attributes.has("root"))
      ++roots_[{op.attributes.integers("axes"), op.kind->name, graph_.value(op.inputs[0]).shape}]
              [op.attributes.integer("root")];
  }

  Layout layout_of(ValueId v) const {
    const Layout& layout = graph_.value(v).layout;
    return layout.empty() ? Layout(graph_.mesh().axes.size()) : layout;
  }

  /// Row-major among the ranks along `axes`.
  std::int64_t place(const std::vector<std::int64_t>& axes, const Coordinates& at) const {
    std::int64_t place = 0;
    for (const std::int64_t axis : axes)
      place = place * graph_.mesh().size(static_cast<int>(axis)) + at[static_cast<std::size_t>(axis)];
    return place;
  }

  static void append_piece(const Piece& piece, Signature& to) {
    to.push_back(piece.held);
    for (const Ranges& runs : piece.dims) {
      to.push_back(length(runs));
      to.push_back(static_cast<std::int64_t>(runs.size()));
    }
    to.push_back(piece.flat ? piece.flat->length() : 0);
  }

  const Graph& graph_;
  Roles roles_;
  std::set<std::pair<Shape, Layout>> pieces_;
  std::set<std::tuple<Shape, Layout, Layout>> moves_;
  std::set<int> ends_;  ///< axes along which the first keeps a whole, the last ends it
  std::set<std::pair<int, std::vector<ValueId>>> picks_;          ///< an axis, and what its coordinates take
  std::map<Rooted, std::map<std::int64_t, std::int64_t>> roots_;  ///< how often each root is one
};

}  // namespace

std::vector<RankClass> rank_classes(const Plan& plan, Roles roles, const std::vector<std::int64_t>& marks) {
  std::vector<Facts> facts;
  std::set<int> pipelined;  // axes whose coordinates have an order of their own
  for (const PlannedGraph& planned : plan.graphs) {
    facts.emplace_back(planned.scheduled.graph, roles);
    for (const PipelineSchedule& order : planned.scheduled.pipelines) pipelined.insert(order.axis);
  }
  std::map<Signature, std::size_t> numbers;
  std::vector<RankClass> classes;
  const std::int64_t ranks = rank_count(plan.mesh);
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    Coordinates at = coordinates(plan.mesh, rank);
    Signature signature;
    if (!marks.empty()) signature.push_back(marks[static_cast<std::size_t>(rank)]);
    for (const int axis : pipelined) signature.push_back(at[static_cast<std::size_t>(axis)]);
    at.push_back(0);  // along `micro`, where there is such an axis
    for (const Facts& of_graph : facts) of_graph.append(at, signature);
    const auto [found, is_new] = numbers.try_emplace(std::move(signature), classes.size());
    if (is_new) classes.emplace_back();
    RankClass& own = classes[found->second];
    ++own.count;
    if (!own.stretches.empty() && own.stretches.back().second == rank - 1)
      own.stretches.back().second = rank;
    else
      own.stretches.emplace_back(rank, rank);
  }
  return classes;
}

}  // namespace baleen
