/// \file What ranks do alike between two steps though only one of them can tell: a signal has come, minutes are over.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "core/launch/rank_link.hpp"

namespace baleen {

/// Ranks come to a step at different times, so rank 0 says for all, about once a second. [one thread]
class AgreedPoints {
 public:
  struct Wish {
    bool stops = false, saves = false;
  };
  /// `link`: null on one rank; borrowed. `key`: of what is agreed on, "checkpoint/point". The run begins at
  /// `first_step`.
  AgreedPoints(RankLink* link, std::string key, std::int64_t first_step);

  /// Behind each step, on all ranks: what rank 0 wants; nothing where this step is no point.
  Result<Wish> at(std::int64_t step, const std::function<Wish()>& wish);

 private:
  RankLink* link_;
  std::string key_;
  std::int64_t first_step_, next_;
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

}  // namespace baleen
