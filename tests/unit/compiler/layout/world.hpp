/// \file A few ranks that hold the elements of one tensor as lists, and run collectives by their definitions: shares
/// nothing with compiler/layout but the types.
#pragma once
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <random>
#include <stdexcept>

#include "compiler/layout/conversion.hpp"
#include "compiler/layout/mesh.hpp"

namespace baleen::test {

/// Row-major number of a global element.
using Element = std::int64_t;

/// Positions of part `index` of `parts` among `count`, as docs/design.md, section 4, defines it.
inline std::vector<std::int64_t> part_positions(std::int64_t count, bool balanced, std::int64_t parts,
                                                std::int64_t index) {
  std::vector<std::int64_t> positions;
  const std::int64_t chunks = balanced ? 2 * parts : parts, size = (count + chunks - 1) / chunks;
  for (std::int64_t i = 0; i < count; ++i)
    if (i / size == index || (balanced && i / size == 2 * parts - 1 - index)) positions.push_back(i);
  return positions;
}

/// `list` cut by all axes whose placement is of one of `kinds` with this argument, outermost first.
template <class T>
std::vector<T> cut_list(std::vector<T> list, const Layout& layout, const Mesh& mesh, const Coordinates& at,
                        const std::function<bool(const Placement&)>& concerns) {
  std::vector<std::size_t> axes;
  for (std::size_t i = 0; i < layout.size(); ++i)
    if (concerns(layout[i])) axes.push_back(i);
  std::stable_sort(axes.begin(), axes.end(), [&](auto a, auto b) { return layout[a].depth < layout[b].depth; });
  for (std::size_t axis : axes) {
    std::vector<T> part;
    const bool balanced = layout[axis].kind == Placement::Kind::shard_balanced;
    for (auto i : part_positions(static_cast<std::int64_t>(list.size()), balanced, mesh.axes[axis].size, at[axis]))
      part.push_back(list[static_cast<std::size_t>(i)]);
    list = std::move(part);
  }
  return list;
}

/// The elements that a rank holds, in local order; none where it holds nothing.
inline std::vector<Element> elements_of(const Shape& shape, const Layout& layout, const Mesh& mesh,
                                        const Coordinates& at) {
  for (std::size_t i = 0; i < layout.size(); ++i)
    if (layout[i].kind == Placement::Kind::at && layout[i].argument != at[i]) return {};
  std::vector<Element> elements{0};
  for (std::size_t d = 0; d < shape.size(); ++d) {
    std::vector<std::int64_t> indices;
    for (std::int64_t i = 0; i < shape[d]; ++i) indices.push_back(i);
    indices = cut_list(indices, layout, mesh, at, [&](const Placement& p) {
      return (p.kind == Placement::Kind::shard || p.kind == Placement::Kind::shard_balanced) &&
             p.argument == static_cast<int>(d);
    });
    std::vector<Element> more;
    for (Element e : elements)
      for (std::int64_t i : indices) more.push_back(e * shape[d] + i);
    elements = std::move(more);
  }
  return cut_list(elements, layout, mesh, at, [](const Placement& p) { return p.kind == Placement::Kind::shard_flat; });
}

/// One tensor on all ranks of a mesh.
class World {
 public:
  using Local = std::map<Element, double>;

  World(const Mesh& mesh, const Shape& shape, const Layout& layout, std::uint64_t seed)
      : mesh_(mesh), shape_(shape), layout_(layout), ranks_(static_cast<std::size_t>(rank_count(mesh))) {
    std::mt19937_64 rng(seed);
    for (Element e = 0; e < element_count(shape); ++e) {
      const double whole = static_cast<double>(rng() % 1000);
      global_.push_back(whole);
      share_out(e, whole, rng);
    }
  }

  const std::vector<double>& global() const { return global_; }
  const Local& local(std::size_t rank) const { return ranks_[rank]; }
  /// Elements sent per rank so far, the mean.
  double mean_sent() const { return sent_ / static_cast<double>(ranks_.size()); }

  /// Throws where a rank needs an element that no rank of its group has.
  void run(const Step& step) {
    if (step.from != layout_) throw std::logic_error("a step starts from another layout");
    std::vector<Local> after(ranks_.size());
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) after[rank] = result_of(step, rank);
    for (const auto& group : groups(mesh_, step.axes)) sent_ += sent_in(step, group);
    ranks_ = std::move(after);
    layout_ = step.to;
  }

  /// What the ranks hold, put together; throws where replicas differ or a rank holds other elements than the layout
  /// says.
  std::vector<double> assemble() const {
    std::vector<double> whole(global_.size(), max_of_parts() ? -INFINITY : 0);
    std::map<std::pair<Element, Coordinates>, double> parts;  // by element and coordinates on partial axes
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      const Coordinates at = coordinates(mesh_, static_cast<std::int64_t>(rank));
      const std::vector<Element> held = elements_of(shape_, layout_, mesh_, at);
      if (held.size() != ranks_[rank].size()) throw std::logic_error("a rank holds too much or too little");
      for (Element e : held) {
        const double own = ranks_[rank].at(e);
        const auto [it, fresh] = parts.try_emplace({e, partial_coordinates(at)}, own);
        if (!fresh && it->second != own) throw std::logic_error("replicas differ");
      }
    }
    for (const auto& [key, part] : parts) {
      double& sum = whole[static_cast<std::size_t>(key.first)];
      sum = max_of_parts() ? std::max(sum, part) : sum + part;
    }
    return whole;
  }

 private:
  bool max_of_parts() const {
    return std::any_of(layout_.begin(), layout_.end(),
                       [](const Placement& p) { return p.kind == Placement::Kind::partial_max; });
  }

  Coordinates partial_coordinates(const Coordinates& at) const {
    Coordinates result;
    for (std::size_t i = 0; i < layout_.size(); ++i)
      if (layout_[i].is_partial()) result.push_back(at[i]);
    return result;
  }

  /// Gives every holder of an element its (share of the) value.
  void share_out(Element e, double whole, std::mt19937_64& rng) {
    std::map<Coordinates, double> shares;
    Coordinates last;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      const Coordinates parts = partial_coordinates(coordinates(mesh_, static_cast<std::int64_t>(rank)));
      shares.try_emplace(parts,
                         static_cast<double>(rng() % 1000) - 1000.0);  // below every value: neutral enough for max
      last = parts;
    }
    if (max_of_parts()) {
      shares[last] = whole;
    } else {
      shares[last] = whole;
      for (const auto& [parts, share] : shares)
        if (parts != last) shares[last] -= share;
    }
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      const Coordinates at = coordinates(mesh_, static_cast<std::int64_t>(rank));
      const auto held = elements_of(shape_, layout_, mesh_, at);
      if (std::find(held.begin(), held.end(), e) != held.end()) ranks_[rank][e] = shares[partial_coordinates(at)];
    }
  }

  Local result_of(const Step& step, std::size_t rank) const {
    Local result;
    const auto own_rank = static_cast<std::int64_t>(rank);
    const auto members = sends(step.collective) ? group(mesh_, own_rank, step.axes) : std::vector{own_rank};
    for (Element e : elements_of(shape_, step.to, mesh_, coordinates(mesh_, own_rank)))
      result[e] = element_after(step, rank, members, e);
    return result;
  }

  double element_after(const Step& step, std::size_t rank, const std::vector<std::int64_t>& members, Element e) const {
    const Placement &before = step.from[static_cast<std::size_t>(step.axes[0])],
                    &after = step.to[static_cast<std::size_t>(step.axes[0])];
    const bool max = before.kind == Placement::Kind::partial_max || after.kind == Placement::Kind::partial_max;
    if (step.collective == CollectiveOp::take_partial) {
      const bool first =
          before.kind != Placement::Kind::replicate ||
          coordinates(mesh_, static_cast<std::int64_t>(rank))[static_cast<std::size_t>(step.axes[0])] == 0;
      auto it = ranks_[rank].find(e);
      return first && it != ranks_[rank].end() ? it->second : max ? -INFINITY : 0;
    }
    std::vector<double> found;
    for (std::int64_t member : members)
      if (auto it = ranks_[static_cast<std::size_t>(member)].find(e);
          it != ranks_[static_cast<std::size_t>(member)].end())
        found.push_back(it->second);
    if (found.empty()) throw std::logic_error("an element that nobody in the group has");
    if (!before.is_partial()) return found.front();
    if (found.size() != members.size()) throw std::logic_error("a member lacks its part of an element");
    double sum = found.front();
    for (std::size_t i = 1; i < found.size(); ++i) sum = max ? std::max(sum, found[i]) : sum + found[i];
    return sum;
  }

  /// Elements that the group's ranks send together, by the usual algorithms (a ring; pairs for all_to_all).
  double sent_in(const Step& step, const std::vector<std::int64_t>& members) const {
    double before = 0, after = 0, kept = 0, largest = 0;
    for (std::int64_t member : members) {
      const auto rank = static_cast<std::size_t>(member);
      before += static_cast<double>(ranks_[rank].size());
      largest = std::max(largest, static_cast<double>(ranks_[rank].size()));
      for (Element e : elements_of(shape_, step.to, mesh_, coordinates(mesh_, member))) {
        after += 1;
        kept += ranks_[rank].contains(e);
      }
    }
    const double others = static_cast<double>(members.size()) - 1;
    switch (step.collective) {
      case CollectiveOp::all_reduce: return 2 * others * largest;
      case CollectiveOp::reduce_scatter:
      case CollectiveOp::reduce:
      case CollectiveOp::broadcast: return others * largest;
      case CollectiveOp::all_gather: return others * before;
      case CollectiveOp::all_to_all: return after - kept;
      case CollectiveOp::send: return others > 0 ? after : 0;
      default: return 0;
    }
  }

  Mesh mesh_;
  Shape shape_;
  Layout layout_;
  std::vector<double> global_;
  std::vector<Local> ranks_;
  double sent_ = 0;
};

}  // namespace baleen::test
