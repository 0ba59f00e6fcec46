/// \file From boxes to stretches of row-major elements.
#include "shard_region.hpp"

#include <algorithm>

namespace baleen::safetensors {
namespace {

std::string text_of(const baleen_range_t& range) {
  return "[" + std::to_string(range.begin) + ", " + std::to_string(range.end) + ")";
}

std::int64_t length_of(const std::vector<baleen_range_t>& list) {
  std::int64_t length = 0;
  for (const baleen_range_t& range : list) length += range.end - range.begin;
  return length;
}

/// Adds stretches, joins those that follow each other, and leaves out what `flat` leaves out.
class Collector {
 public:
  explicit Collector(const Region& region)
      : keep_(region.flat.value_or(baleen_range_t{0, region.elements()})), base_(keep_.begin) {}

  void add(std::int64_t global, std::int64_t length) {
    const std::int64_t begin = std::max(seen_, keep_.begin), end = std::min(seen_ + length, keep_.end);
    if (begin < end) keep(global + begin - seen_, begin - base_, end - begin);
    seen_ += length;
  }
  /// Passes over those of `count` parts, of `each` elements, that lie before what is kept; how many they are. So a
  /// small piece of a large box costs what the piece has, whoever wrote it.
  std::int64_t pass(std::int64_t count, std::int64_t each) {
    const std::int64_t passed = each == 0 ? count : std::clamp((keep_.begin - seen_) / each, std::int64_t{0}, count);
    seen_ += passed * each;
    return passed;
  }
  bool is_full() const { return seen_ >= keep_.end; }
  std::vector<Stretch> all;

 private:
  void keep(std::int64_t global, std::int64_t local, std::int64_t length) {
    if (!all.empty() && all.back().global + all.back().length == global)
      all.back().length += length;
    else
      all.push_back({global, local, length});
  }
  const baleen_range_t keep_;
  const std::int64_t base_;
  std::int64_t seen_ = 0;  // elements of the box so far
};

void walk(const Region& region, std::size_t dim, std::int64_t base, Collector& out) {
  if (dim == region.shape.size()) return out.add(base, 1);
  std::int64_t inner = 1, each = 1;  // elements per index: of the tensor, and of the box
  bool whole = true;
  for (std::size_t d = dim + 1; d < region.shape.size(); ++d) {
    inner *= region.shape[d];
    const auto& list = region.ranges[d];
    each *= length_of(list);
    whole = whole && list.size() == 1 && list[0].begin == 0 && list[0].end == region.shape[d];
  }
  for (const baleen_range_t& range : region.ranges[dim]) {
    if (whole) {
      out.add(base + range.begin * inner, (range.end - range.begin) * inner);
      continue;
    }
    const std::int64_t first = range.begin + out.pass(range.end - range.begin, each);
    for (std::int64_t i = first; i < range.end && !out.is_full(); ++i) walk(region, dim + 1, base + i * inner, out);
  }
}

}  // namespace

std::optional<std::int64_t> elements_of(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape)
    if (extent < 0 || __builtin_mul_overflow(count, extent, &count)) return std::nullopt;
  return count;
}

Result<Region> Region::of(const std::vector<std::int64_t>& shape,
                          const std::vector<std::vector<baleen_range_t>>& ranges, std::optional<baleen_range_t> flat) {
  if (!elements_of(shape)) return invalid("its shape has too many elements or a negative extent");
  Region region{shape, {}, flat};
  for (std::size_t d = 0; d < shape.size(); ++d) {
    std::int64_t last = 0;
    std::vector<baleen_range_t> list = d < ranges.size() ? ranges[d] : std::vector<baleen_range_t>();
    if (list.empty()) list = {{0, shape[d]}};
    for (const baleen_range_t& range : list) {
      if (range.begin < last || range.end < range.begin || range.end > shape[d])
        return invalid("the indices " + text_of(range) + " of dimension " + std::to_string(d) +
                       " do not ascend within its " + std::to_string(shape[d]));
      last = range.end;
    }
    region.ranges.push_back(std::move(list));
  }
  region.flat.reset();
  const std::int64_t box = region.elements();
  if (flat && (flat->begin < 0 || flat->end < flat->begin || flat->end > box))
    return invalid("the elements " + text_of(*flat) + " do not lie within the " + std::to_string(box) + " of its box");
  region.flat = flat;
  return region;
}

std::int64_t Region::elements() const {
  if (flat) return flat->end - flat->begin;
  const std::vector<std::int64_t> box = local_shape();
  return elements_of(box).value_or(0);
}

std::vector<std::int64_t> Region::local_shape() const {
  if (flat) return {elements()};
  std::vector<std::int64_t> extents;
  for (const auto& list : ranges) extents.push_back(length_of(list));
  return extents;
}

std::vector<Stretch> stretches(const Region& region) {
  if (region.elements() == 0) return {};
  Region box = region;
  box.flat.reset();
  Collector collector(region.flat ? region : box);
  walk(region, 0, 0, collector);
  return std::move(collector.all);
}

bool operator==(const Region& a, const Region& b) {
  const auto same = [](const baleen_range_t& x, const baleen_range_t& y) {
    return x.begin == y.begin && x.end == y.end;
  };
  return a.shape == b.shape && a.flat.has_value() == b.flat.has_value() && (!a.flat || same(*a.flat, *b.flat)) &&
         std::equal(
             a.ranges.begin(), a.ranges.end(), b.ranges.begin(), b.ranges.end(),
             [&](const auto& x, const auto& y) { return std::equal(x.begin(), x.end(), y.begin(), y.end(), same); });
}

}  // namespace baleen::safetensors
