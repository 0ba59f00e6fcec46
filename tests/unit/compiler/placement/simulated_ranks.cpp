#include "simulated_ranks.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "support/reference_kernels.hpp"

namespace baleen::test {
namespace {

bool is_conversion(const Op& op) { return op.kind->has(kStructural) && op.attributes.has("from"); }

bool in(const Ranges& runs, std::int64_t index) {
  return std::any_of(runs.begin(), runs.end(), [&](const Range& run) { return run.begin <= index && index < run.end; });
}

}  // namespace

Kernel reference_kernel(const std::string& kind) {
  static const std::map<std::string, Kernel> all = [] {
    std::map<std::string, Kernel> list;
    add_basic_kernels(list);
    add_network_kernels(list);
    add_attention_kernels(list);
    return list;
  }();
  const auto it = all.find(kind);
  if (it == all.end()) throw std::runtime_error("the reference lacks " + kind);
  return it->second;
}

SimulatedRanks::SimulatedRanks(const Graph& graph)
    : graph_(graph), ranks_(static_cast<std::size_t>(rank_count(graph.mesh()))) {}

/// Which elements of a value a rank holds.
const std::vector<char>& SimulatedRanks::mask(ValueId v, std::size_t rank) const {
  const auto [it, fresh] = masks_.try_emplace({v, rank});
  std::vector<char>& mask = it->second;
  if (!fresh) return mask;
  const Value& value = graph_.value(v);
  const Piece piece =
      piece_of(value.shape, value.layout, graph_.mesh(), coordinates(graph_.mesh(), static_cast<std::int64_t>(rank)));
  std::int64_t number = 0;
  for_each(value.shape, [&](const Coordinate& at) {
    bool held = piece.held;
    for (std::size_t d = 0; d < at.size(); ++d) held = held && in(piece.dims[d], at[d]);
    if (held && piece.flat) held = piece.flat->begin <= number && number < piece.flat->end;
    bool box = piece.held;
    for (std::size_t d = 0; d < at.size(); ++d) box = box && in(piece.dims[d], at[d]);
    number += box;
    mask.push_back(held);
  });
  return mask;
}

Tensor SimulatedRanks::masked(ValueId v, std::size_t rank, const Tensor& whole) const {
  const std::vector<char>& held = mask(v, rank);
  Tensor piece(whole.shape);
  for (std::size_t i = 0; i < held.size(); ++i)
    if (held[i]) piece[i] = whole[i];
  return piece;
}

void SimulatedRanks::run() {
  values_.clear();
  assigned_.clear();
  local_.clear();
  talks_inside_ = 0;
  for (OpId id : graph_.ops()) run(graph_.op(id));
}

void SimulatedRanks::run(const Op& op) {
  if (op.kind->name == "assign") {
    assigned_[graph_.value(op.inputs[0]).name] = op.inputs[1];
  } else if (op.inputs.empty() && op.kind->has(kStructural)) {
    const ValueId v = op.outputs[0];
    const Tensor whole(graph_.value(v).shape, sources_.at(op.attributes.text("name")));
    for (std::size_t rank = 0; rank < ranks_; ++rank) values_[v].push_back(masked(v, rank, whole));
  } else if (is_local(op)) {
    run_local(op);
  } else if (is_conversion(op)) {
    Pieces pieces;
    for (std::size_t rank = 0; rank < ranks_; ++rank) pieces.push_back(converted(op, rank));
    values_[op.outputs[0]] = std::move(pieces);
  } else {
    run_kernel(op);
  }
}

/// A rank's piece after a collective, from what its group holds before it.
Tensor SimulatedRanks::converted(const Op& op, std::size_t rank) const {
  const ValueId y = op.outputs[0];
  std::vector<int> axes;
  for (std::int64_t axis : op.attributes.integers("axes")) axes.push_back(static_cast<int>(axis));
  const auto own = static_cast<std::int64_t>(rank);
  const auto members = op.kind->has(kCollective) ? group(graph_.mesh(), own, axes) : std::vector{own};
  const bool partial = op.kind->name == "take_partial" &&
                       graph_.value(op.inputs[0]).layout[static_cast<std::size_t>(axes[0])].is_replicate();
  const bool first = coordinates(graph_.mesh(), own)[static_cast<std::size_t>(axes[0])] == 0;
  Tensor piece(graph_.value(y).shape);
  std::size_t i = 0;
  for_each(piece.shape, [&](const Coordinate& at) {
    if (mask(y, rank)[i] && (!partial || first)) piece[i] = element(op, members, at);
    ++i;
  });
  return piece;
}

double SimulatedRanks::element(const Op& op, const std::vector<std::int64_t>& members, const Coordinate& at) const {
  const ValueId x = op.inputs[0];
  const Layout& from = graph_.value(x).layout;
  const Placement& before = from[static_cast<std::size_t>(op.attributes.integers("axes")[0])];
  double sum = 0;
  std::size_t holders = 0;
  for (std::int64_t member : members) {
    const auto rank = static_cast<std::size_t>(member);
    const Tensor& piece = values_.at(x)[rank];
    std::size_t i = 0;
    for (std::size_t d = 0; d < at.size(); ++d)
      i = i * static_cast<std::size_t>(piece.shape[d]) + static_cast<std::size_t>(at[d]);
    if (!mask(x, rank)[i]) continue;
    ++holders;
    if (!before.is_partial()) return piece[i];
    const bool max = before == Placement::partial_max();
    sum = max && holders > 1 ? std::max(sum, piece[i]) : sum + piece[i];
  }
  if (op.kind->name == "take_partial") return sum;
  if (holders != (before.is_partial() ? members.size() : 1))
    throw std::runtime_error(op.kind->name + " `" + op.name +
                             "`: a rank needs an element that its group does not hold");
  return sum;
}

/// Axes along which the op shards a letter that it reduces itself: there it talks to its group.
std::vector<int> SimulatedRanks::internal_axes(const Op& op) const {
  std::vector<int> axes;
  if (!op.kind->iteration) return axes;
  const Iteration iteration = iteration_of(graph_, op);
  for (const auto& internal : iteration.internal)
    for (std::size_t i = 0; i < op.inputs.size(); ++i)
      for (std::size_t d = 0; d < iteration.inputs[i].size(); ++d)
        if (iteration.inputs[i][d] == internal.letter)
          for (int axis : split_order(graph_.value(op.inputs[i]).layout, static_cast<int>(d)))
            if (graph_.value(op.outputs[0]).layout[static_cast<std::size_t>(axis)] != Placement::partial_max() &&
                std::find(axes.begin(), axes.end(), axis) == axes.end())
              axes.push_back(axis);
  return axes;
}

Tensor SimulatedRanks::operand(const Op& op, std::size_t input, std::size_t rank,
                               const std::vector<int>& whole_axes) const {
  const ValueId v = op.inputs[input];
  Tensor result = values_.at(v)[rank];
  for (std::int64_t member : group(graph_.mesh(), static_cast<std::int64_t>(rank), whole_axes)) {
    const auto other = static_cast<std::size_t>(member);
    for (std::size_t i = 0; i < result.size(); ++i)
      if (mask(v, other)[i] && !mask(v, rank)[i]) result[i] = values_.at(v)[other][i];
  }
  return result;
}

void SimulatedRanks::run_kernel(const Op& op) {
  const Kernel kernel = reference_kernel(op.kind->name);
  const std::vector<int> whole_axes = internal_axes(op);
  talks_inside_ += !whole_axes.empty();
  for (std::size_t rank = 0; rank < ranks_; ++rank) {
    Call call{op, {}, {}, {}, 0, 0};
    std::vector<Tensor> inputs;
    for (std::size_t i = 0; i < op.inputs.size(); ++i) inputs.push_back(operand(op, i, rank, whole_axes));
    for (const Tensor& input : inputs) call.inputs.push_back(&input);
    for (ValueId y : op.outputs) {
      call.outputs.emplace_back(graph_.value(y).shape);
      call.dtypes.push_back(graph_.value(y).dtype);
    }
    kernel(call);
    round_halves(call);
    for (std::size_t i = 0; i < op.outputs.size(); ++i)
      values_[op.outputs[i]].push_back(masked(op.outputs[i], rank, call.outputs[i]));
  }
}

Tensor SimulatedRanks::whole(ValueId v) const {
  const Value& value = graph_.value(v);
  std::map<Coordinates, Tensor> parts;  // by coordinates on the axes that hold partial sums
  std::map<Coordinates, std::vector<char>> seen;
  for (std::size_t rank = 0; rank < ranks_; ++rank) {
    Coordinates key = coordinates(graph_.mesh(), static_cast<std::int64_t>(rank));
    for (std::size_t axis = 0; axis < key.size(); ++axis)
      if (!value.layout[axis].is_partial()) key[axis] = 0;
    Tensor& part = parts.try_emplace(key, value.shape).first->second;
    std::vector<char>& found = seen.try_emplace(key, part.size(), char{0}).first->second;
    for (std::size_t i = 0; i < part.size(); ++i) {
      if (!mask(v, rank)[i]) continue;
      const double own = values_.at(v)[rank][i];
      if (found[i] && part[i] != own) throw std::runtime_error("replicas of `" + value.name + "` differ");
      part[i] = own;
      found[i] = 1;
    }
  }
  Tensor sum(value.shape);
  for (const auto& [key, part] : parts)
    for (std::size_t i = 0; i < sum.size(); ++i) {
      if (!seen[key][i]) throw std::runtime_error("nobody holds an element of `" + value.name + "`");
      sum[i] += part[i];
    }
  return sum;
}

std::map<std::string, Tensor> SimulatedRanks::assigned() const {
  std::map<std::string, Tensor> result;
  for (const auto& [name, value] : assigned_) result[name] = whole(value);
  return result;
}

}  // namespace baleen::test
