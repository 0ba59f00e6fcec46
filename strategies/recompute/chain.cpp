/// \file Cuts the forward pass into segments, lists what each could do, and chooses by a dynamic program.
#include "chain.hpp"

#include <algorithm>
#include <set>

namespace baleen::recompute {
namespace {

/// Passes of so few ops have a segment for each.
constexpr std::size_t kFewOps = 40;
/// Segments that a pass without blocks is cut into.
constexpr std::size_t kMostSegments = 32;
/// How many segments may run again together.
constexpr std::size_t kTogether[] = {2, 3, 4, 6, 8, 12, 16};
/// States of the dynamic program at one place; of more some are left out.
constexpr std::size_t kMostStates = 96;

/// A choice of all segments so far.
struct State {
  std::int64_t kept = 0;
  double flops = 0;
  std::size_t before = 0;  ///< the state that it goes on from, at segment `first`
  std::size_t first = 0;
  const Choice* choice = nullptr;
};

/// By bytes kept, each with fewer FLOPs than the one before.
void prune(std::vector<State>& states) {
  std::ranges::sort(
      states, [](const State& a, const State& b) { return a.kept != b.kept ? a.kept < b.kept : a.flops < b.flops; });
  std::vector<State> best;
  for (const State& state : states)
    if (best.empty() || state.flops < best.back().flops) best.push_back(state);
  if (best.size() > kMostStates) {
    std::vector<State> some;
    for (std::size_t i = 0; i < kMostStates; ++i) some.push_back(best[i * (best.size() - 1) / (kMostStates - 1)]);
    best = std::move(some);
  }
  states = std::move(best);
}

}  // namespace

Chain::Chain(const ForwardPass& pass, const Blocks& blocks) : pass_(pass) {
  if (pass.size() == 0) return;
  if (blocks.count() > 1)
    cut(blocks);
  else
    cut_where_few_cross();
  const std::vector<std::vector<char>> shown = kept_results(pass);
  steps_.resize(ends_.size());
  for (std::size_t s = 0; s < ends_.size(); ++s) {
    const auto add = [&](std::size_t end, bool together) {
      const Segment segment(pass, shown, begin_of(s), ends_[end - 1]);
      const auto [found, is_new] = choices_.try_emplace((together ? "inputs " : "") + segment.signature());
      if (is_new) found->second = together ? std::vector{segment.inputs_only()} : segment.choices();
      for (const Choice& choice : found->second) steps_[s].push_back({end, &choice});
    };
    add(s + 1, false);
    for (const std::size_t together : kTogether)
      if (s + together <= ends_.size()) add(s + together, true);
  }
  find_least();
}

/// Where blocks begin, and where the last one ends.
void Chain::cut(const Blocks& blocks) {
  std::set<std::size_t> cuts{pass_.size()};
  std::vector<char> seen(static_cast<std::size_t>(blocks.count()), 0);
  std::size_t last = 0;
  for (std::size_t i = 0; i < pass_.size(); ++i) {
    if (blocks.of[i] < 0) continue;
    if (char& began = seen[static_cast<std::size_t>(blocks.of[i])]; !began) {
      began = 1;
      cuts.insert(i);
    }
    last = i;
  }
  cuts.insert(last + 1);
  cuts.erase(0);
  ends_.assign(cuts.begin(), cuts.end());
}

void Chain::cut_where_few_cross() {
  const std::size_t count = pass_.size();
  if (count <= kFewOps) {
    for (std::size_t i = 0; i < count; ++i) ends_.push_back(i + 1);
    return;
  }
  // Bytes that are made before a place and read behind it.
  std::vector<std::uint64_t> crossing(count + 1, 0);
  for (std::size_t i = 0; i < count; ++i)
    if (!pass_[i].readers.empty())
      for (std::size_t at = i + 1; at <= pass_[i].readers.back(); ++at) crossing[at] += pass_.bytes(i);
  const std::size_t segments = std::min(kMostSegments, count / 4);
  for (std::size_t s = 1; s <= segments; ++s) {
    const std::size_t from = count * (2 * s - 1) / (2 * segments),
                      to = std::min(count, count * (2 * s + 1) / (2 * segments));
    std::size_t best = s == segments ? count : from;
    for (std::size_t at = from; s < segments && at < to; ++at)
      if (crossing[at] < crossing[best]) best = at;
    if (ends_.empty() || best > ends_.back()) ends_.push_back(best);
  }
}

Chosen Chain::cheapest(std::int64_t bytes) const {
  std::vector<std::vector<State>> states(ends_.size() + 1);
  states[0].push_back({});
  for (std::size_t s = 0; s < ends_.size(); ++s) {
    prune(states[s]);
    for (std::size_t number = 0; number < states[s].size(); ++number) {
      const State& from = states[s][number];
      for (const auto& [end, choice] : steps_[s])
        if (from.kept + choice->peak <= bytes)
          states[end].push_back({from.kept + choice->kept, from.flops + choice->flops, number, s, choice});
    }
  }
  std::vector<State>& last = states[ends_.size()];
  if (last.empty()) return {};
  prune(last);
  const State* state = &last.back();  // the fewest FLOPs
  Chosen all(pass_.size(), 0);
  for (std::size_t at = ends_.size(); at > 0;) {
    for (const std::size_t op : state->choice->ops) all[begin_of(state->first) + op] = 1;
    at = state->first;
    state = &states[at][state->before];
  }
  return all;
}

void Chain::find_least() {
  std::int64_t kept = 0;
  for (const auto& steps : steps_)
    for (const auto& [end, choice] : steps)
      if (choice->ops.empty()) {
        most_ = std::max(most_, kept + choice->peak);
        kept += choice->kept;
        break;
      }
  std::int64_t low = 0;
  least_ = most_;
  while (least_ - low > std::max<std::int64_t>(1, least_ / 1024)) {
    const std::int64_t middle = low + (least_ - low) / 2;
    (cheapest(middle).empty() ? low : least_) = middle;
  }
}

}  // namespace baleen::recompute
