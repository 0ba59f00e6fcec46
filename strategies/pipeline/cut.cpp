#include "cut.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace baleen::pipeline {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

/// What a cut of the first layers into the first stages comes to.
struct Score {
  double most = kNever;  ///< of what is to be small
  double squares = 0;    ///< of the work of the stages

  friend bool operator<(const Score& a, const Score& b) {
    return a.most != b.most ? a.most < b.most : a.squares < b.squares;
  }
};

/// Dynamic programming over stages and the layers before their end.
class Cutter {
 public:
  explicit Cutter(const CutRequest& request) : request_(request), sums_(request.layers.size() + 1) {
    for (std::size_t i = 0; i < request.layers.size(); ++i) {
      const LayerCost &before = sums_[i], &layer = request.layers[i];
      sums_[i + 1] = {before.work + layer.work, before.held_bytes + layer.held_bytes,
                      before.kept_bytes + layer.kept_bytes};
    }
  }

  std::size_t layers() const { return request_.layers.size(); }
  std::size_t stages() const { return request_.in_flight.size(); }

  double work(std::size_t begin, std::size_t end) const { return sums_[end].work - sums_[begin].work; }
  double bytes(std::size_t stage, std::size_t begin, std::size_t end) const {
    return sums_[end].held_bytes - sums_[begin].held_bytes +
           request_.in_flight[stage] * (sums_[end].kept_bytes - sums_[begin].kept_bytes);
  }

  /// The least of the greatest `cost(stage, begin, end)`; infinite where no cut is allowed. `ends` are where stages
  /// end.
  template <class Cost>
  double best(Cost&& cost, std::vector<std::size_t>& ends) const {
    std::vector<std::vector<Score>> scores(stages() + 1, std::vector<Score>(layers() + 1));
    std::vector<std::vector<std::size_t>> from(stages() + 1, std::vector<std::size_t>(layers() + 1));
    scores[0][0] = {0, 0};
    for (std::size_t s = 0; s < stages(); ++s)
      for (std::size_t end = s + 1; end <= layers(); ++end)
        for (std::size_t begin = s; begin < end; ++begin) {
          if (scores[s][begin].most == kNever) continue;
          const double own = work(begin, end);
          const Score score{std::max(scores[s][begin].most, cost(s, begin, end)), scores[s][begin].squares + own * own};
          if (score.most == kNever || !(score < scores[s + 1][end])) continue;
          scores[s + 1][end] = score;
          from[s + 1][end] = begin;
        }
    ends.assign(stages(), layers());
    for (std::size_t s = stages(); s-- > 1;) ends[s - 1] = from[s + 1][ends[s]];
    return scores[stages()][layers()].most;
  }

 private:
  const CutRequest& request_;
  std::vector<LayerCost> sums_;  ///< of the first i layers
};

std::string mebibytes(double bytes) { return std::to_string(static_cast<std::int64_t>(std::ceil(bytes / 1048576.0))); }

}  // namespace

Result<std::vector<std::uint32_t>> cut_layers(const CutRequest& request) {
  const Cutter cutter(request);
  if (cutter.layers() < cutter.stages())
    return invalid(
        "there are " + std::to_string(cutter.stages()) + " stages, and the model has " +
        std::to_string(cutter.layers()) +
        " layers that can stand on a rank of their own; take fewer ranks along the axis, or fewer chunks on each");
  const auto fits = [&](std::size_t s, std::size_t begin, std::size_t end) {
    return request.most_bytes == 0 || cutter.bytes(s, begin, end) <= request.most_bytes;
  };
  const auto bytes = [&](std::size_t s, std::size_t begin, std::size_t end) { return cutter.bytes(s, begin, end); };
  std::vector<std::size_t> ends;
  const double least =
      cutter.best([&](std::size_t s, std::size_t begin,
                      std::size_t end) { return fits(s, begin, end) ? cutter.work(begin, end) : kNever; },
                  ends);
  if (least == kNever)
    return invalid("no cut into " + std::to_string(cutter.stages()) + " stages holds at most " +
                   mebibytes(request.most_bytes) + " MiB on every rank; the least that one needs is " +
                   mebibytes(cutter.best(bytes, ends)));
  const auto busy = [&](std::size_t begin, std::size_t end) { return cutter.work(begin, end) <= least * (1 + kSlack); };
  const double fullest = cutter.best(
      [&](std::size_t s, std::size_t begin, std::size_t end) {
        return fits(s, begin, end) && busy(begin, end) ? bytes(s, begin, end) : kNever;
      },
      ends);
  cutter.best([&](std::size_t s, std::size_t begin,
                  std::size_t end) { return busy(begin, end) && bytes(s, begin, end) <= fullest ? 0 : kNever; },
              ends);
  std::vector<std::uint32_t> counts;
  for (std::size_t s = 0; s < ends.size(); ++s)
    counts.push_back(static_cast<std::uint32_t>(ends[s] - (s > 0 ? ends[s - 1] : 0)));
  return counts;
}

}  // namespace baleen::pipeline
