/// \file Learning merges: the pair that stands most often becomes a token, again and again (arXiv 1508.07909,
/// section 3.2).
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace baleen::text {

/// A word as ids of tokens, and how often it stands in the text.
struct CountedWord {
  std::vector<std::uint32_t> ids;
  std::int64_t count = 0;
};

struct PairTraining {
  std::vector<std::string> tokens;  ///< those of the characters; learned ones come behind
  std::vector<std::pair<std::uint32_t, std::uint32_t>> merges;
};

/// Learns until there are `vocabulary` tokens, or no pair stands `least` times. Of pairs that stand equally often the
/// one of the smallest ids is taken. `prefix`: what tokens within a word begin with, which joining takes off.
void learn_pairs(std::vector<CountedWord> words, std::size_t vocabulary, std::int64_t least, const std::string& prefix,
                 PairTraining& training);

}  // namespace baleen::text
