/// \file The rules of LocalSpread, kind by kind.
#include "compiler/placement/local_spread.hpp"

#include <algorithm>

#include "compiler/layout/mesh.hpp"

namespace baleen {

void LocalSpread::visit(const Op& op) {
  const std::size_t axes = graph_.mesh().axes.size();
  for (ValueId v : op.outputs) {
    of_[v].resize(axes, Spread::whole);
    held_[v].resize(axes, kAll);
  }
  for (std::size_t axis = 0; axis < axes; ++axis) {
    const Spread spread = op.kind->name == "to_local" ? opened(op, axis) : computed(op, axis);
    const int held = held_at(op, axis);
    for (ValueId v : op.outputs) {
      of_[v][axis] = spread;
      held_[v][axis] = held;
    }
  }
}

int LocalSpread::held_at(const Op& op, std::size_t axis) const {
  if (op.kind->name == "to_local") {
    const Placement& lies = graph_.value(op.inputs[0]).layout[axis];
    return lies.is_at() ? lies.argument : kAll;
  }
  int held = kAll;
  for (const ValueId v : op.inputs) {
    const int own = held_[v].empty() ? kAll : held_[v][axis];
    if (own != kAll) held = held == kAll || held == own ? own : kNobody;
  }
  return held;
}

LocalSpread::Spread LocalSpread::at(ValueId value, std::size_t axis) const {
  return of_[value].empty() ? Spread::whole : of_[value][axis];
}

LocalSpread::Spread LocalSpread::opened(const Op& to_local, std::size_t axis) const {
  switch (graph_.value(to_local.inputs[0]).layout[axis].kind) {
    case Placement::Kind::replicate: return Spread::whole;
    case Placement::Kind::partial_sum: return Spread::terms;
    case Placement::Kind::partial_max: return Spread::maxima;
    default: return Spread::differs;
  }
}

LocalSpread::Spread LocalSpread::computed(const Op& op, std::size_t axis) const {
  Spread spread = Spread::whole;
  for (ValueId v : op.inputs) spread = std::max(spread, at(v, axis));
  const bool is_among = op.attributes.has("axes") &&
                        std::ranges::count(op.attributes.integers("axes"), static_cast<std::int64_t>(axis)) > 0;
  if (op.kind->has(kCollective)) return is_among ? after_collective(op, spread) : spread;
  if (is_among && spread != Spread::unknown) return Spread::differs;  // `axis_index`, `pick`
  if (op.kind->has(kView) || spread == Spread::unknown) return spread;
  return spread <= Spread::alike ? Spread::alike : Spread::differs;
}

LocalSpread::Spread LocalSpread::after_collective(const Op& op, Spread before) {
  const std::string& kind = op.kind->name;
  const bool is_term = before == Spread::terms || before == Spread::maxima;
  if (before == Spread::unknown) return before;
  if (kind == "all_reduce") {
    const bool is_maximum = op.attributes.has("reduction") && op.attributes.text("reduction") == "max";
    return is_term && is_maximum != (before == Spread::maxima) ? before : Spread::alike;
  }
  if (kind == "broadcast") return is_term ? before : Spread::alike;
  if (kind == "reduce" || kind == "reduce_scatter") return before == Spread::maxima ? before : Spread::differs;
  if (kind == "all_gather") return is_term ? Spread::unknown : Spread::alike;
  if (kind == "all_to_all") return is_term ? Spread::unknown : Spread::differs;
  return before <= Spread::alike ? before : Spread::unknown;
}

std::string LocalSpread::unmet(const Op& collective) const {
  for (const std::int64_t axis : collective.attributes.integers("axes")) {
    const auto number = static_cast<std::size_t>(axis);
    if (const int held = held_at(collective, number); held != kAll && graph_.mesh().axes[number].size > 1)
      return "along `" + graph_.mesh().axes[number].name + "` it is to be called by all ranks, and those at " +
             (held == kNobody ? "each coordinate" : "other coordinates than " + std::to_string(held)) +
             " leave the region out, since it opens what lies elsewhere";
  }
  return {};
}

/// Ranks at other coordinates have zeros of it, which are terms of a sum and nothing else.
std::string LocalSpread::unlike_coordinates(const Op& from_local, std::size_t axis) const {
  const Placement& stated = graph_.value(from_local.outputs[0]).layout[axis];
  const int held = held_at(from_local, axis);
  if (held == kNobody) return "it is made of values that lie at different coordinates there, and no rank has them all";
  const bool is_there = stated.is_at() && stated.argument == held;
  if (held == kAll || is_there || stated.kind == Placement::Kind::partial_sum) return {};
  return "its value is at coordinate " + std::to_string(held) + " there, and nothing has sent it";
}

std::string LocalSpread::contradiction(const Op& from_local) const {
  const Shape& shape = graph_.value(from_local.outputs[0]).shape;
  const Layout& stated = graph_.value(from_local.outputs[0]).layout;
  for (std::size_t axis = 0; axis < graph_.mesh().axes.size(); ++axis) {
    const MeshAxis& of = graph_.mesh().axes[axis];
    if (is_virtual(of) || of.size == 1) continue;
    const std::string says = "along `" + of.name + "` it cannot state " + to_string(stated[axis]) + ": ";
    if (const std::string unlike = unlike_coordinates(from_local, axis); !unlike.empty()) return says + unlike;
    const Spread spread = at(from_local.inputs[0], axis);
    const bool is_sum = stated[axis].kind == Placement::Kind::partial_sum;
    const bool is_maximum = stated[axis].kind == Placement::Kind::partial_max;
    if (stated[axis].is_replicate() || is_maximum)
      if (spread == Spread::terms) return says + "its value is a term of a sum there that nothing has added up";
    if (stated[axis].is_replicate() || is_sum)
      if (spread == Spread::maxima) return says + "nothing has taken the maximum of its values there";
    if (stated[axis].is_replicate() && spread == Spread::differs)
      return says + "its value differs from rank to rank there; end the region with a collective over the axis";
    if (is_sum && spread == Spread::whole)
      return says + "each rank has the whole there, and the sum would be " + std::to_string(of.size) + " times it";
    if (const auto dim = stated[axis].cut(); dim && spread == Spread::whole)
      if ((*dim == kFlat ? element_count(shape) : shape[static_cast<std::size_t>(*dim)]) > 1)
        return says + "each rank has the whole there, and all would take one part of it; take the rank's own by a pick";
  }
  return {};
}

}  // namespace baleen
