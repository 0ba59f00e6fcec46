/// \file From lifetimes to offsets: buffers that never live at once may share bytes.
#pragma once
#include <cstdint>
#include <vector>

namespace baleen {

/// A buffer live from position `first` to position `last`, both included.
struct Interval {
  std::uint64_t bytes = 0;
  std::int64_t first = 0, last = 0;
};

struct MemoryPlan {
  std::vector<std::uint64_t> offsets;  ///< one per interval, multiples of the alignment
  std::uint64_t arena_bytes = 0;
  std::uint64_t peak_bytes = 0;  ///< the most that is live at once: the lower bound of arena_bytes
  std::int64_t peak_position = 0;
};

struct MemoryPeak {
  std::uint64_t bytes = 0;
  std::int64_t position = 0;  ///< the first where as much is live
};

/// The most that is live at once, sizes rounded up to `alignment`.
MemoryPeak find_peak(const std::vector<Interval>& intervals, std::uint64_t alignment);

/// Finds offsets by first fit in several orders and keeps the best. Sizes count rounded up to `alignment`, a power of
/// two.
MemoryPlan plan_memory(const std::vector<Interval>& intervals, std::uint64_t alignment);

constexpr std::uint64_t align_up(std::uint64_t bytes, std::uint64_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

}  // namespace baleen
