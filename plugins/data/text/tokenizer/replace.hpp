/// \file A pattern of a tokenizer file (a text or a regular expression), and replacing what it matches.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "json_tree.hpp"
#include "regex.hpp"

namespace baleen::text {

/// Immutable. [any thread]
class Pattern {
 public:
  explicit Pattern(std::string literal) : literal_(std::move(literal)) {}
  explicit Pattern(Regex regex) : regex_(std::move(regex)) {}
  /// { "String": … } or { "Regex": … } or a bare string, at `pattern`.
  static Result<Pattern> read(JsonObject& object);
  /// Appends the matches that are not empty.
  Status find(std::string_view text, std::vector<Span>& matches) const;

 private:
  std::string literal_;
  std::optional<Regex> regex_;
};

class Replacement {
 public:
  /// The keys `pattern` and `content`.
  static Result<Replacement> read(JsonObject& object);
  Status apply(std::string& text) const;

 private:
  Replacement(Pattern pattern, std::string content) : pattern_(std::move(pattern)), content_(std::move(content)) {}
  Pattern pattern_;
  std::string content_;
};

}  // namespace baleen::text
