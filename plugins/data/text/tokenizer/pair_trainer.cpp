/// \file A heap of pairs whose counts may be out of date, and for each pair the words that may have it.
#include "pair_trainer.hpp"

#include <algorithm>
#include <queue>
#include <unordered_map>

namespace baleen::text {
namespace {

using Pair = std::uint64_t;
Pair pair_of(std::uint32_t left, std::uint32_t right) { return std::uint64_t{left} << 32 | right; }
std::uint32_t left_of(Pair pair) { return static_cast<std::uint32_t>(pair >> 32); }
std::uint32_t right_of(Pair pair) { return static_cast<std::uint32_t>(pair); }

struct Candidate {
  std::int64_t count;
  Pair pair;
  bool operator<(const Candidate& other) const {
    return count != other.count ? count < other.count : pair > other.pair;
  }
};

class PairCounter {
 public:
  explicit PairCounter(std::vector<CountedWord> words) : words_(std::move(words)) {
    for (std::uint32_t i = 0; i < words_.size(); ++i)
      for (std::size_t at = 0; at + 1 < words_[i].ids.size(); ++at)
        add(pair_of(words_[i].ids[at], words_[i].ids[at + 1]), words_[i].count, i);
    for (const auto& [pair, facts] : pairs_) heap_.push({facts.count, pair});
    changed_.clear();
  }

  /// The pair that stands most often; false where none stands `least` times.
  bool take(std::int64_t least, Pair& pair) {
    while (!heap_.empty()) {
      const Candidate top = heap_.top();
      heap_.pop();
      const std::int64_t now = pairs_[top.pair].count;
      if (now != top.count) {
        if (now > 0) heap_.push({now, top.pair});
        continue;
      }
      if (now < std::max<std::int64_t>(least, 1)) return false;
      pair = top.pair;
      return true;
    }
    return false;
  }

  void merge(Pair pair, std::uint32_t made) {
    std::vector<std::uint32_t> places = std::move(pairs_[pair].words);
    std::sort(places.begin(), places.end());
    places.erase(std::unique(places.begin(), places.end()), places.end());
    for (const std::uint32_t word : places) merge_in(word, pair, made);
    pairs_.erase(pair);
    std::sort(changed_.begin(), changed_.end());
    changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
    for (const Pair changed : changed_)
      if (const auto found = pairs_.find(changed); found != pairs_.end() && found->second.count > 0)
        heap_.push({found->second.count, changed});
    changed_.clear();
  }

 private:
  struct Facts {
    std::int64_t count = 0;
    std::vector<std::uint32_t> words;
  };
  void add(Pair pair, std::int64_t count, std::uint32_t word) {
    Facts& facts = pairs_[pair];
    facts.count += count;
    if (count <= 0) return;
    if (facts.words.empty() || facts.words.back() != word) facts.words.push_back(word);
    changed_.push_back(pair);
  }
  void merge_in(std::uint32_t number, Pair pair, std::uint32_t made) {
    CountedWord& word = words_[number];
    std::vector<std::uint32_t>& ids = word.ids;
    std::size_t kept = 0;
    for (std::size_t at = 0; at < ids.size(); ++kept) {
      const bool found = at + 1 < ids.size() && pair_of(ids[at], ids[at + 1]) == pair;
      if (found) {
        if (kept > 0) {
          add(pair_of(ids[kept - 1], left_of(pair)), -word.count, number);
          add(pair_of(ids[kept - 1], made), word.count, number);
        }
        if (at + 2 < ids.size()) {
          add(pair_of(right_of(pair), ids[at + 2]), -word.count, number);
          add(pair_of(made, ids[at + 2]), word.count, number);
        }
      }
      ids[kept] = found ? made : ids[at];
      at += found ? 2 : 1;
    }
    ids.resize(kept);
  }

  std::vector<CountedWord> words_;
  std::unordered_map<Pair, Facts> pairs_;
  std::vector<Pair> changed_;
  std::priority_queue<Candidate> heap_;
};

}  // namespace

void learn_pairs(std::vector<CountedWord> words, std::size_t vocabulary, std::int64_t least, const std::string& prefix,
                 PairTraining& training) {
  std::unordered_map<std::string, std::uint32_t> ids;
  for (std::uint32_t i = 0; i < training.tokens.size(); ++i) ids.emplace(training.tokens[i], i);
  PairCounter counter(std::move(words));
  Pair pair = 0;
  while (training.tokens.size() < vocabulary && counter.take(least, pair)) {
    std::string right = training.tokens[right_of(pair)];
    if (!prefix.empty() && right.starts_with(prefix)) right.erase(0, prefix.size());
    const std::string made = training.tokens[left_of(pair)] + right;
    const auto [known, is_new] = ids.emplace(made, static_cast<std::uint32_t>(training.tokens.size()));
    if (is_new) training.tokens.push_back(made);
    training.merges.emplace_back(left_of(pair), right_of(pair));
    counter.merge(pair, known->second);
  }
}

}  // namespace baleen::text
