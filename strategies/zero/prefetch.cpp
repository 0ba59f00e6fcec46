#include "prefetch.hpp"

#include <algorithm>

namespace baleen::zero {
namespace {

/// The most bytes that are alive at once, from the beginning of a gathering to its last use.
std::uint64_t peak_bytes(const std::vector<Gathering>& gatherings) {
  std::uint64_t most = 0;
  for (const Gathering& at : gatherings) {
    std::uint64_t live = 0;
    for (const Gathering& other : gatherings)
      if (other.begin <= at.begin && at.begin <= other.last_use) live += other.bytes;
    most = std::max(most, live);
  }
  return most;
}

/// Bytes alive at a position, of those that begin before `number`.
std::uint64_t live_before(const std::vector<Gathering>& gatherings, std::size_t number, std::uint32_t position) {
  std::uint64_t live = 0;
  for (std::size_t i = 0; i < number; ++i)
    if (gatherings[i].begin <= position && position <= gatherings[i].last_use) live += gatherings[i].bytes;
  return live;
}

}  // namespace

Status plan_prefetch(std::vector<Gathering>& gatherings, const PrefetchOptions& options) {
  std::sort(gatherings.begin(), gatherings.end(),
            [](const Gathering& a, const Gathering& b) { return a.first_use < b.first_use; });
  const auto ahead = static_cast<std::size_t>(options.ahead);
  for (std::size_t i = 0; i < gatherings.size(); ++i) {
    Gathering& one = gatherings[i];
    // No gathering overtakes an earlier one.
    const std::size_t soonest = i < ahead ? 0 : i - ahead;
    for (std::size_t other = soonest; other <= i; ++other) {
      one.begin = std::max(gatherings[other].first_use, i > 0 ? gatherings[i - 1].begin : 0);
      if (options.live_bytes == 0 || live_before(gatherings, i, one.begin) + one.bytes <= options.live_bytes) break;
    }
  }
  const std::uint64_t peak = peak_bytes(gatherings);
  if (options.live_bytes == 0 || peak <= options.live_bytes) return {};
  return invalid("gathered parameters take " + std::to_string(peak) +
                 " bytes at once, and `max_live_parameters_mb` allows " + std::to_string(options.live_bytes) +
                 "; make it " + std::to_string(peak / 1048576 + 1) + ", or `bucket_mb` smaller");
}

}  // namespace baleen::zero
