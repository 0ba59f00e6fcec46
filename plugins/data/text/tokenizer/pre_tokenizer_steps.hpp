/// \file A step that cuts pieces at matches.
#pragma once
#include <string_view>
#include <vector>

#include "pre_tokenizer.hpp"
#include "regex.hpp"

namespace baleen::text {

/// What becomes of a match.
enum class Behaviour {
  removed,
  isolated,       ///< a piece of its own
  with_previous,  ///< the end of the piece before it
  with_next,      ///< the beginning of the piece after it
  contiguous      ///< one piece with the matches beside it
};

/// `inverts`: what does not match counts as the match.
class Cut : public PreTokenizer {
 public:
  Cut(Behaviour behaviour, bool inverts) : behaviour_(behaviour), inverts_(inverts) {}
  Status apply(Pieces& pieces) const override;

 protected:
  /// Appends the matches from left to right.
  virtual Status find(std::string_view text, std::vector<Span>& matches) const = 0;

 private:
  Behaviour behaviour_;
  bool inverts_;
};

}  // namespace baleen::text
