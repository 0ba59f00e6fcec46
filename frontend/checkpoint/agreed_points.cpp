/// \file Rank 0 tells the others.
#include "frontend/checkpoint/agreed_points.hpp"

#include <algorithm>
#include <cmath>

namespace baleen {
namespace {

constexpr double kSecondsBetween = 1;

}  // namespace

AgreedPoints::AgreedPoints(RankLink* link, std::string key, std::int64_t first_step)
    : link_(link), key_(std::move(key)), first_step_(first_step), next_(first_step + 1) {}

Result<AgreedPoints::Wish> AgreedPoints::at(std::int64_t step, const std::function<Wish()>& wish) {
  if (!link_) return wish();
  if (step < next_) return Wish();
  const std::string point = key_ + "/" + std::to_string(step);
  if (link_->place().rank == 0) {
    const Wish own = wish();
    const std::chrono::duration<double> all = std::chrono::steady_clock::now() - begun_;
    const double each =
        std::max(1e-6, all.count() / static_cast<double>(std::max<std::int64_t>(1, step - first_step_)));
    const std::int64_t next = step + std::max<std::int64_t>(1, std::llround(std::min(1e6, kSecondsBetween / each)));
    BALEEN_TRY(link_->put(point, std::string(own.stops ? "1" : "0") + (own.saves ? "1" : "0") + std::to_string(next)));
  }
  BALEEN_TRY_ASSIGN(const std::string said, link_->get(point));
  next_ = std::stoll(said.substr(2));
  return Wish{said[0] == '1', said[1] == '1'};
}

}  // namespace baleen
