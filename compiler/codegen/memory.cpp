/// \file Packs intervals into one arena: first fit from several orders, then rounds of improvement.
#include "compiler/codegen/memory.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>

namespace baleen {
namespace {

/// Rounds of improvement per starting order, for few and for many buffers (a round is quadratic), and how many of them
/// without improvement are the last ones.
constexpr std::uint64_t kMostRounds = 64, kPatience = 24;
constexpr std::uint64_t kWork = 40'000'000;
/// An arena this close to the lower bound is good enough to stop early.
constexpr double kGoodEnough = 1.001;

using Order = std::vector<std::size_t>;

/// A buffer that has its place.
struct Placed {
  std::uint64_t begin, end;
  std::int64_t first, last;
};

/// The placed buffers by offset, in blocks that are short enough to insert into. A block is passed over as a whole
/// where none of its buffers lives at the time, and where all do and leave no room between them.
class PlacedBuffers {
 public:
  void clear() { blocks_.clear(); }

  /// The lowest offset with `size` free bytes during the life of `own`.
  std::uint64_t lowest(const Interval& own, std::uint64_t size) {
    std::uint64_t at = 0;
    for (Block& block : blocks_) {
      if (block.buffers.front().begin >= at + size) break;
      if (block.last < own.first || own.last < block.first) continue;
      if (block.latest_first <= own.last && own.first <= block.earliest_last && block.widest_gap() < size) {
        at = std::max(at, block.end);
        continue;
      }
      for (const Placed& other : block.buffers) {
        if (other.begin >= at + size) break;
        if (other.last >= own.first && own.last >= other.first) at = std::max(at, other.end);
      }
    }
    return at;
  }

  void insert(const Placed& buffer) {
    const auto above = [&](const Block& block) { return block.buffers.front().begin <= buffer.begin; };
    auto block = std::partition_point(blocks_.begin(), blocks_.end(), above);
    if (block != blocks_.begin()) --block;
    if (block == blocks_.end()) block = blocks_.emplace(block);
    auto& buffers = block->buffers;
    buffers.insert(std::ranges::upper_bound(buffers, buffer.begin, {}, &Placed::begin), buffer);
    block->count(buffer);
    if (buffers.size() < kMost) return;
    const std::vector<Placed> all = std::move(buffers);
    *block = Block({all.begin(), all.begin() + kMost / 2});
    blocks_.emplace(block + 1, std::vector(all.begin() + kMost / 2, all.end()));
  }

 private:
  static constexpr std::ptrdiff_t kMost = 128;

  struct Block {
    std::vector<Placed> buffers;
    std::int64_t first = INT64_MAX, last = INT64_MIN;                  ///< of all their lives
    std::int64_t latest_first = INT64_MIN, earliest_last = INT64_MAX;  ///< of any of their lives
    std::uint64_t end = 0;                                             ///< of their bytes
    std::optional<std::uint64_t> gap;  ///< the widest between them, once it was asked for

    explicit Block(std::vector<Placed> given = {}) : buffers(std::move(given)) {
      for (const Placed& buffer : buffers) count(buffer);
    }

    void count(const Placed& buffer) {
      first = std::min(first, buffer.first);
      last = std::max(last, buffer.last);
      latest_first = std::max(latest_first, buffer.first);
      earliest_last = std::min(earliest_last, buffer.last);
      end = std::max(end, buffer.end);
      gap.reset();
    }

    std::uint64_t widest_gap() {
      if (gap) return *gap;
      gap = 0;
      for (std::uint64_t reached = buffers.front().end; const Placed& buffer : buffers) {
        if (buffer.begin > reached) gap = std::max(*gap, buffer.begin - reached);
        reached = std::max(reached, buffer.end);
      }
      return *gap;
    }
  };
  std::vector<Block> blocks_;
};

/// Places intervals one after the other at the lowest offset that is free during their whole life.
class FirstFit {
 public:
  FirstFit(const std::vector<Interval>& intervals, std::uint64_t alignment)
      : intervals_(intervals), sizes_(intervals.size()) {
    for (std::size_t i = 0; i < intervals.size(); ++i) sizes_[i] = align_up(intervals[i].bytes, alignment);
  }

  std::uint64_t size(std::size_t i) const { return sizes_[i]; }

  /// Returns the arena's bytes.
  std::uint64_t place(const Order& order, std::vector<std::uint64_t>& offsets) {
    std::uint64_t arena = 0;
    placed_.clear();
    for (std::size_t i : order) {
      const Interval& own = intervals_[i];
      offsets[i] = placed_.lowest(own, sizes_[i]);
      const std::uint64_t end = offsets[i] + sizes_[i];
      arena = std::max(arena, end);
      placed_.insert({offsets[i], end, own.first, own.last});
    }
    return arena;
  }

 private:
  const std::vector<Interval>& intervals_;
  std::vector<std::uint64_t> sizes_;
  PlacedBuffers placed_;
};

/// Starting orders: large first; large and long-lived first; long-lived first; as they come.
std::vector<Order> starting_orders(const std::vector<Interval>& intervals) {
  Order plain(intervals.size());
  std::iota(plain.begin(), plain.end(), 0);
  auto life = [&](std::size_t i) { return static_cast<double>(intervals[i].last - intervals[i].first + 1); };
  auto bytes = [&](std::size_t i) { return static_cast<double>(intervals[i].bytes); };
  auto sorted = [&](auto key) {
    Order order = plain;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key(a) > key(b); });
    return order;
  };
  return {sorted(bytes), sorted([&](std::size_t i) { return bytes(i) * life(i); }), sorted(life),
          sorted([&](std::size_t i) { return -static_cast<double>(intervals[i].first); })};
}

}  // namespace

MemoryPeak find_peak(const std::vector<Interval>& intervals, std::uint64_t alignment) {
  std::map<std::int64_t, std::int64_t> changes;
  for (const Interval& interval : intervals) {
    const auto bytes = static_cast<std::int64_t>(align_up(interval.bytes, alignment));
    changes[interval.first] += bytes;
    changes[interval.last + 1] -= bytes;
  }
  std::int64_t live = 0, most = 0, where = 0;
  for (const auto& [position, change] : changes) {
    live += change;
    if (live > most) most = live, where = position;
  }
  return {static_cast<std::uint64_t>(most), where};
}

MemoryPlan plan_memory(const std::vector<Interval>& intervals, std::uint64_t alignment) {
  FirstFit fit(intervals, alignment);
  const MemoryPeak peak = find_peak(intervals, alignment);
  MemoryPlan plan{std::vector<std::uint64_t>(intervals.size()), UINT64_MAX, peak.bytes, peak.position};
  const std::uint64_t count = intervals.size();
  const std::uint64_t rounds = std::clamp<std::uint64_t>(kWork / (count * count + 1), 1, kMostRounds);
  std::vector<std::uint64_t> offsets = plan.offsets;
  std::vector<Order> orders = starting_orders(intervals);
  std::set<Order> tried(orders.begin(), orders.end());
  // A round of each in turn: mostly one of them soon is good enough.
  for (std::uint64_t round = 0, last = kPatience; round < std::min(rounds, last) && !orders.empty(); ++round) {
    for (Order& order : orders) {
      const std::uint64_t arena = fit.place(order, offsets);
      if (arena < plan.arena_bytes) {
        plan.arena_bytes = arena;
        plan.offsets = offsets;
        last = round + 1 + kPatience;
        if (static_cast<double>(arena) <= kGoodEnough * static_cast<double>(plan.peak_bytes)) return plan;
      }
      // What reaches the arena's end comes first next time.
      std::stable_partition(order.begin(), order.end(), [&](auto i) { return offsets[i] + fit.size(i) == arena; });
    }
    std::erase_if(orders, [&](const Order& order) { return !tried.insert(order).second; });
  }
  return plan;
}

}  // namespace baleen
