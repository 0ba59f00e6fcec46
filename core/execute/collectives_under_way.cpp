/// \file Looks at the events around collectives.
#include "core/execute/collectives_under_way.hpp"

#include <algorithm>

#include "baleen/event.hpp"

namespace baleen {

void CollectivesUnderWay::begin(const Begun& begun) {
  const std::lock_guard lock(mutex_);
  if (begun_.size() >= most_) {
    drop_ended();
    most_ = std::max<std::size_t>(64, 2 * begun_.size());
  }
  begun_.push_back(begun);
}

void CollectivesUnderWay::forget() {
  const std::lock_guard lock(mutex_);
  begun_.clear();
}

std::string CollectivesUnderWay::running() {
  const std::lock_guard lock(mutex_);
  drop_ended();
  const auto runs = [](const Begun& each) { return !each.after || event_value(*each.after) >= each.after_value; };
  const auto found = std::ranges::find_if(begun_, runs);
  return found == begun_.end() ? std::string() : *found->name;
}

void CollectivesUnderWay::drop_ended() {
  std::erase_if(begun_, [](const Begun& each) { return event_value(*each.done) >= each.done_value; });
}

}  // namespace baleen
