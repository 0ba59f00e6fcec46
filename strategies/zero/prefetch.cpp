#include "prefetch.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <vector>

namespace baleen::zero {
namespace {

/// Bytes that are alive, at positions that only grow: from the beginning of a gathering to its last use.
class LiveBytes {
 public:
  /// Of what began, at a position no earlier than those before.
  std::uint64_t at(std::uint32_t position) {
    for (; !ends_.empty() && ends_.top().last_use < position; ends_.pop()) bytes_ -= ends_.top().bytes;
    return bytes_;
  }
  void begin(const Gathering& gathering) {
    ends_.push({gathering.last_use, gathering.bytes});
    bytes_ += gathering.bytes;
  }

 private:
  struct End {
    std::uint32_t last_use;
    std::uint64_t bytes;
    bool operator>(const End& other) const { return last_use > other.last_use; }
  };
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  std::uint64_t bytes_ = 0;
};

}  // namespace

Status plan_prefetch(std::vector<Gathering>& gatherings, const PrefetchOptions& options) {
  std::sort(gatherings.begin(), gatherings.end(),
            [](const Gathering& a, const Gathering& b) { return a.first_use < b.first_use; });
  const auto ahead = static_cast<std::size_t>(options.ahead);
  LiveBytes live;
  std::uint64_t peak = 0;
  for (std::size_t i = 0; i < gatherings.size(); ++i) {
    Gathering& one = gatherings[i];
    // No gathering overtakes an earlier one.
    const std::size_t soonest = i < ahead ? 0 : i - ahead;
    for (std::size_t other = soonest; other <= i; ++other) {
      one.begin = std::max(gatherings[other].first_use, i > 0 ? gatherings[i - 1].begin : 0);
      if (options.live_bytes == 0 || live.at(one.begin) + one.bytes <= options.live_bytes) break;
    }
    peak = std::max(peak, live.at(one.begin) + one.bytes);
    live.begin(one);
  }
  if (options.live_bytes == 0 || peak <= options.live_bytes) return {};
  return invalid("gathered parameters take " + std::to_string(peak) +
                 " bytes at once, and `max_live_parameters_mb` allows " + std::to_string(options.live_bytes) +
                 "; make it " + std::to_string(peak / 1048576 + 1) + ", or `bucket_mb` smaller");
}

}  // namespace baleen::zero
