/// \file The table of collectives, and the search for the cheapest way through several axes.
#include "compiler/layout/conversion.hpp"

#include <algorithm>

#include "compiler/layout/piece.hpp"

namespace baleen {

const char* to_string(CollectiveOp collective) {
  switch (collective) {
    case CollectiveOp::all_reduce: return "all_reduce";
    case CollectiveOp::reduce_scatter: return "reduce_scatter";
    case CollectiveOp::reduce: return "reduce_to";
    case CollectiveOp::all_gather: return "all_gather";
    case CollectiveOp::all_to_all: return "all_to_all";
    case CollectiveOp::broadcast: return "broadcast";
    case CollectiveOp::send: return "send";
    case CollectiveOp::take_shard: return "take_shard";
    case CollectiveOp::take_partial: return "take_partial";
    case CollectiveOp::take_at: return "take_at";
  }
  return "?";
}

std::optional<CollectiveOp> collective_named(const std::string& name) {
  for (int c = 0; c <= static_cast<int>(CollectiveOp::take_at); ++c)
    if (name == to_string(static_cast<CollectiveOp>(c))) return static_cast<CollectiveOp>(c);
  return std::nullopt;
}

bool sends(CollectiveOp collective) { return collective < CollectiveOp::take_shard; }

std::optional<CollectiveOp> collective_between(const Placement& from, const Placement& to) {
  if (from.same_kind(to)) return std::nullopt;
  if (from.is_replicate())
    return to.cut() ? CollectiveOp::take_shard : to.is_at() ? CollectiveOp::take_at : CollectiveOp::take_partial;
  if (from.is_partial()) {
    if (to.is_partial()) return std::nullopt;
    return to.cut() ? CollectiveOp::reduce_scatter : to.is_at() ? CollectiveOp::reduce : CollectiveOp::all_reduce;
  }
  if (to.is_partial()) return CollectiveOp::take_partial;
  if (from.cut()) {
    if (to.is_at()) return std::nullopt;
    return to.cut() ? CollectiveOp::all_to_all : CollectiveOp::all_gather;
  }
  if (to.cut()) return std::nullopt;
  return to.is_at() ? CollectiveOp::send : CollectiveOp::broadcast;
}

double mean_elements(const Shape& shape, const Layout& layout, const Mesh& mesh, int axis) {
  double elements = static_cast<double>(element_count(shape));
  for (std::size_t i = 0; i < layout.size(); ++i)
    if (static_cast<int>(i) != axis && layout[i].cut()) elements /= static_cast<double>(mesh.axes[i].size);
  return elements;
}

namespace {

/// What a collective over `n` ranks sends per rank, where each holds `bytes` without the axis.
double sent(CollectiveOp collective, double bytes, double n) {
  const double others = (n - 1) / n;
  switch (collective) {
    case CollectiveOp::all_reduce: return 2 * others * bytes;
    case CollectiveOp::reduce_scatter:
    case CollectiveOp::reduce:
    case CollectiveOp::all_gather:
    case CollectiveOp::broadcast: return others * bytes;
    case CollectiveOp::all_to_all: return others * bytes / n;
    case CollectiveOp::send: return n > 1 ? bytes / n : 0;
    default: return 0;
  }
}

}  // namespace

double conversion_bytes(const Placement& from, const Placement& to, double elements, std::size_t element_bytes,
                        std::int64_t axis_size) {
  if (from.same_kind(to)) return 0;
  const double bytes = elements * static_cast<double>(element_bytes), n = static_cast<double>(axis_size);
  if (const auto collective = collective_between(from, to)) return sent(*collective, bytes, n);
  return sent(*collective_between(from, Placement::replicate()), bytes, n);  // and from there on for nothing
}

double total_bytes(const std::vector<Step>& steps) {
  double sum = 0;
  for (const Step& step : steps) sum += step.bytes;
  return sum;
}

namespace {

/// Dijkstra over layouts: nodes are few, since each axis is placed as before, as wanted, or replicated.
class Search {
 public:
  Search(const Layout& from, const Layout& to, const Shape& shape, std::size_t element_bytes, const Mesh& mesh)
      : to_(to), shape_(shape), element_bytes_(static_cast<double>(element_bytes)), mesh_(mesh) {
    nodes_.push_back({from, 0, 0, 0, {}, false});
  }

  std::vector<Step> run() {
    for (;;) {
      const std::size_t best = nearest();
      nodes_[best].done = true;
      if (nodes_[best].layout == to_) return path(best);
      const Layout layout = nodes_[best].layout;
      for (int axis = 0; axis < static_cast<int>(layout.size()); ++axis) expand(best, layout, axis);
      for (int dim = kFlat; dim < static_cast<int>(shape_.size()); ++dim) renest(best, layout, dim);
    }
  }

 private:
  struct Node {
    Layout layout;
    double bytes;
    int steps;
    std::size_t parent;
    Step step;
    bool done;
  };

  const Placement& wanted(int axis) const { return to_[static_cast<std::size_t>(axis)]; }

  /// There is always one: everything can be made whole, the innermost splits first, and cut again.
  std::size_t nearest() const {
    std::size_t best = nodes_.size();
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].done) continue;
      if (best == nodes_.size() || cheaper(nodes_[i].bytes, nodes_[i].steps, nodes_[best])) best = i;
    }
    return best;
  }

  static bool cheaper(double bytes, int steps, const Node& other) {
    const double slack = 1e-9 * (1 + other.bytes);
    return bytes < other.bytes - slack || (bytes <= other.bytes + slack && steps < other.steps);
  }

  std::vector<Step> path(std::size_t node) const {
    std::vector<Step> steps;
    for (; nodes_[node].parent != node; node = nodes_[node].parent) steps.push_back(nodes_[node].step);
    std::reverse(steps.begin(), steps.end());
    return steps;
  }

  void expand(std::size_t from, const Layout& layout, int axis) {
    const Placement &now = layout[static_cast<std::size_t>(axis)], &then = wanted(axis);
    if (!now.same_kind(then)) {
      reach(from, layout, axis, then);
      if (!now.is_replicate() && !then.is_replicate()) reach(from, layout, axis, Placement::replicate());
    } else if (now.cut()) {
      reach(from, layout, axis, Placement::replicate());  // it may be in the way of a split further out
    }
  }

  /// Only the innermost split of a dimension comes or goes, and nothing is cut beneath a flat split.
  bool may_change(const Layout& layout, int axis, const Placement& then) const {
    const Placement& now = layout[static_cast<std::size_t>(axis)];
    for (std::size_t i = 0; i < layout.size(); ++i) {
      if (static_cast<int>(i) == axis) continue;
      if (layout[i].kind == Placement::Kind::shard_flat)
        if ((now.cut() && now.cut() != kFlat) || (then.cut() && then.cut() != kFlat)) return false;
      if (then.is_partial() && layout[i].is_partial() && layout[i].kind != then.kind) return false;
    }
    return !now.cut() || split_order(layout, *now.cut()).back() == axis;
  }

  void reach(std::size_t from, const Layout& layout, int axis, const Placement& then) {
    const auto collective = collective_between(layout[static_cast<std::size_t>(axis)], then);
    if (!collective || !may_change(layout, axis, then)) return;
    Step step{*collective, {axis}, layout, with_placement(layout, axis, then), 0};
    const double bytes = mean_elements(shape_, layout, mesh_, axis) * element_bytes_,
                 n = static_cast<double>(mesh_.size(axis));
    step.bytes = *collective == CollectiveOp::all_to_all
                     ? bytes / n * moved_share(step.from, step.to, shape_, mesh_, step.axes)
                     : sent(*collective, bytes, n);
    add(from, std::move(step));
  }

  /// Splits that stay come first, in the order that is wanted; those that are to go are then innermost.
  void renest(std::size_t from, const Layout& layout, int dim) {
    const std::vector<int> now = split_order(layout, dim);
    if (now.size() < 2 || (dim != kFlat && !split_order(layout, kFlat).empty())) return;
    auto stays = [&](int axis) { return layout[static_cast<std::size_t>(axis)].same_kind(wanted(axis)); };
    std::vector<int> then;
    for (int axis : split_order(to_, dim))
      if (stays(axis)) then.push_back(axis);
    for (int axis : now)
      if (!stays(axis)) then.push_back(axis);
    if (then == now) return;
    Step step{CollectiveOp::all_to_all, {}, layout, with_order(layout, dim, then), 0};
    double held = static_cast<double>(element_count(shape_)) * element_bytes_;
    for (std::size_t i = 0; i < layout.size(); ++i)
      if (layout[i].cut()) held /= static_cast<double>(mesh_.axes[i].size);
    // All that nest inside the first change take part: what they cut is another range of indices afterwards.
    const auto first = std::mismatch(now.begin(), now.end(), then.begin()).first - now.begin();
    step.axes.assign(now.begin() + first, now.end());
    std::sort(step.axes.begin(), step.axes.end());
    step.bytes = held * moved_share(step.from, step.to, shape_, mesh_, step.axes);
    add(from, std::move(step));
  }

  void add(std::size_t from, Step step) {
    const double bytes = nodes_[from].bytes + step.bytes;
    const int steps = nodes_[from].steps + 1;
    for (Node& node : nodes_) {
      if (node.layout != step.to) continue;
      if (!node.done && cheaper(bytes, steps, node)) node = {step.to, bytes, steps, from, std::move(step), false};
      return;
    }
    Layout layout = step.to;
    nodes_.push_back({std::move(layout), bytes, steps, from, std::move(step), false});
  }

  const Layout& to_;
  const Shape& shape_;
  double element_bytes_;
  const Mesh& mesh_;
  std::vector<Node> nodes_;
};

}  // namespace

std::vector<Step> conversion(const Layout& from, const Layout& to, const Shape& shape, std::size_t element_bytes,
                             const Mesh& mesh) {
  if (from == to) return {};
  return Search(from, to, shape, element_bytes, mesh).run();
}

}  // namespace baleen
