/// \file Regular expressions over UTF-8 with Unicode's properties (ICU), as tokenizer files have them.
#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "baleen/result.hpp"

namespace baleen::text {

/// Bytes first ... last - 1 of a text.
struct Span {
  std::size_t first = 0, last = 0;
};

/// Immutable; movable. The syntax is Ruby's as far as ICU's is the same: `^` and `$` are about lines, `.` is all but
/// "\n". What means another thing there is refused.
class Regex {
 public:
  /// Fails with what is wrong and its column. `where` names the place in the file.
  static Result<Regex> compile(std::string_view pattern, const std::string& where);

  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;
  ~Regex();

  /// Appends the matches of `text` (UTF-8, less than 2 GiB) that are not empty, from left to right. Fails where one
  /// match would take longer than half a second or more than 8 MiB. [any thread]
  Status find(std::string_view text, std::vector<Span>& matches) const;

 private:
  struct State;
  explicit Regex(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace baleen::text
