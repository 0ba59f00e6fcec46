/// \file Keys and values, the ranks that wait for them, and barriers.
#include "common/store.hpp"

#include <algorithm>
#include <utility>

#include "common/failure.hpp"

namespace baleen::launchers {

Store::Answers Store::put(int rank, std::uint32_t request, const std::string& key, const std::string& value) {
  const auto [at, fresh] = values_.try_emplace(key, value);
  if (!fresh) return {{rank, request, BALEEN_INVALID, "rendezvous: the key `" + key + "` is already set"}};
  Answers answers = {{rank, request}};
  if (const auto waiting = getting_.extract(key))
    for (const Pending& each : waiting.mapped()) answers.push_back({each.rank, each.request, BALEEN_OK, at->second});
  return answers;
}

Store::Answers Store::get(int rank, std::uint32_t request, const std::string& key) {
  if (const auto found = values_.find(key); found != values_.end()) return {{rank, request, BALEEN_OK, found->second}};
  getting_[key].push_back({rank, request, number_++});
  return {};
}

Store::Answers Store::barrier(int rank, std::uint32_t request, const std::string& key) {
  const auto at = barriers_.try_emplace(key).first;
  at->second.push_back({rank, request, number_++});
  if (!left_.empty()) return break_barrier(at);
  if (static_cast<int>(at->second.size()) < topology_.ranks()) return {};
  Answers answers;
  for (const Pending& each : at->second) answers.push_back({each.rank, each.request});
  barriers_.erase(at);
  return answers;
}

Store::Answers Store::leave(int rank) {
  left_.insert(rank);
  Answers all;
  while (!barriers_.empty())
    for (Answer& answer : break_barrier(barriers_.begin())) all.push_back(std::move(answer));
  return all;
}

Store::Answers Store::break_barrier(Waiting::iterator barrier) {
  const std::vector<int> left(left_.begin(), left_.end());
  const std::string text =
      "rendezvous: " + topology_.named(left) + " ended without coming to the barrier `" + barrier->first + "`";
  Answers answers;
  for (const Pending& each : barrier->second) answers.push_back({each.rank, each.request, BALEEN_INTERNAL, text});
  barriers_.erase(barrier);
  return answers;
}

std::set<int> Store::waiting_ranks() const {
  std::set<int> ranks;
  for (const Waiting* waiting : {&getting_, &barriers_})
    for (const auto& [key, pending] : *waiting)
      for (const Pending& each : pending) ranks.insert(each.rank);
  return ranks;
}

namespace {

/// The key whose first wait is the oldest.
template <class Waiting>
auto oldest(const Waiting& waiting) {
  return std::ranges::min_element(waiting, {}, [](const auto& item) { return item.second.front().number; });
}

}  // namespace

std::optional<Store::Wait> Store::oldest_wait() const {
  std::optional<Wait> found;
  for (const Waiting* waiting : {&getting_, &barriers_})
    if (const auto at = oldest(*waiting); at != waiting->end()) {
      const Pending& first = at->second.front();
      if (!found || first.number < found->number) found = {first.number, first.rank};
    }
  return found;
}

std::string Store::waiting_text() const {
  const auto wait = oldest_wait();
  if (!wait) return {};
  const auto barrier = oldest(barriers_);
  const bool at_barrier = barrier != barriers_.end() && barrier->second.front().number == wait->number;
  const auto& [key, pending] = at_barrier ? *barrier : *oldest(getting_);

  std::set<int> here;
  for (const Pending& each : pending) here.insert(each.rank);
  const std::set<int> excused = at_barrier ? here : waiting_ranks();
  std::vector<int> missing;
  for (int rank = 0; rank < topology_.ranks(); ++rank)
    if (!excused.contains(rank) && !left_.contains(rank)) missing.push_back(rank);
  const std::vector<int> waiting(here.begin(), here.end());
  const std::string text = rank_list(waiting) + (waiting.size() == 1 ? " waits" : " wait") +
                           (at_barrier ? " at barrier `" : " for key `") + key + "`; ";
  return text + (missing.empty() ? "nobody is left to come" : "still waiting for " + topology_.named(missing));
}

}  // namespace baleen::launchers
