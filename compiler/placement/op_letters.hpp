/// \file An op's letters with what they stand for: extents and logical axes.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "compiler/graph/graph.hpp"

namespace baleen {

/// One letter of an op's iteration.
struct Letter {
  char name = 0;
  std::vector<std::int64_t> extents;  ///< the different ones behind it
  std::vector<std::string> axes;      ///< the logical axes of the dimensions behind it

  bool has_axis(const std::string& axis) const;
  /// Whether it can be cut into this many parts: a letter of one extent in blocks of ceil(n/parts), one of several
  /// (heads and their groups) only where each divides.
  bool divides(std::int64_t parts) const;
};

struct OpLetters {
  std::shared_ptr<const Iteration> iteration;  ///< without one, all dimensions are '.'
  std::vector<Letter> letters;                 ///< in order of appearance: results first

  const Letter* find(char name) const;
  /// Whether the op works element by element: each operand has all letters, in one order, or is a scalar. Then it may
  /// be cut flat, and scalar results are partial.
  bool is_elementwise() const;
  /// "heads (6, 2)": the logical axis, else the letter, and the extents.
  static std::string describe(const Letter& letter);
};

OpLetters letters_of(const Graph& graph, const Op& op);

/// The letter of `op` that stands for what `letter` of its forward op stands for: one with a logical axis in common (of
/// several the one of the same name), or the one of the same name where the forward op's has no logical axis. 0 if
/// none.
char same_letter(const OpLetters& forward, char letter, const OpLetters& op);

}  // namespace baleen
