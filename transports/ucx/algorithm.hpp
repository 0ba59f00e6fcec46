/// \file How an operation is carried out, chosen from its size and its group; alike on all members, for all know both.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "baleen/result.hpp"
#include "baleen/transport.h"

namespace baleen::ucx {

enum class Algorithm : std::uint8_t {
  kDirect,             ///< everyone sends all it has to everyone who needs it, who reduces: one message's time
  kRecursiveDoubling,  ///< whole buffers with the member 1, 2, 4, ... away; powers of two
  kHalvingDoubling,    ///< halves, quarters, ... out and back (Rabenseifner); powers of two
  kPairwise,           ///< member r reduces share r out of everyone's, in segments, then shows it to all
  kSubtrees,           ///< subtrees without the root sum themselves and send it their sums: the root sends nothing
  kRing,               ///< to the next, from the last; sums in the order of the ring
  kBruck,              ///< blocks collect along doubling distances (Bruck et al. 1997): log2 n messages
  kTree,               ///< binomial, in segments
  kScatter,            ///< the root deals out shares, which all then gather
  kDissemination       ///< barrier: a token to the member 1, 2, 4, ... on
};

/// "pairwise".
std::string_view algorithm_name(Algorithm algorithm);

/// What the choice depends on.
struct Question {
  baleen_collective_t op = BALEEN_BARRIER;
  std::size_t members = 1;
  std::uint64_t bytes = 0;    ///< of the longest stream of a member
  bool deterministic = true;  ///< the balanced tree, exactly
  bool halves = false;        ///< bf16 or fp16: a partial sum as it would travel has lost bits
  bool even = true;           ///< ALL_TO_ALL: all pieces are of one size
  bool on_device = false;     ///< some member's buffers lie in a device's memory
};

/// Users' choices, by operation.
class Overrides {
 public:
  /// Of "all_reduce=ring", ... An error names what there is.
  static Result<Overrides> parse(const std::vector<std::string_view>& entries);
  std::optional<Algorithm> of(baleen_collective_t op) const { return chosen_[static_cast<std::size_t>(op)]; }
  /// The same text for the same choices.
  std::string text() const;

 private:
  std::array<std::optional<Algorithm>, BALEEN_BARRIER + 1> chosen_;
};

/// Why an algorithm cannot answer the question; empty where it can.
std::string objection(Algorithm algorithm, const Question& question);

/// The override where it can be, else the best known.
Algorithm choose(const Question& question, const Overrides& overrides);

}  // namespace baleen::ucx
