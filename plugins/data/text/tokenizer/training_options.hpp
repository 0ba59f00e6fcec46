/// \file The options of a kind of tokenizer, "name=value", each taken once but for lists.
#pragma once
#include <charconv>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "baleen/result.hpp"

namespace baleen::text {

/// Take what the kind knows, then `finish`.
class TrainingOptions {
 public:
  static Result<TrainingOptions> parse(const std::vector<std::string>& words) {
    TrainingOptions options;
    for (const std::string& word : words) {
      const std::size_t equals = word.find('=');
      if (equals == 0 || equals == word.npos) return invalid("the option `" + word + "` is not of the form name=value");
      options.given_[word.substr(0, equals)].push_back(word.substr(equals + 1));
    }
    return options;
  }
  /// All values, or `fallback`.
  std::vector<std::string> list(const std::string& name, std::vector<std::string> fallback) {
    known_ += (known_.empty() ? "" : ", ") + name;
    const auto found = given_.find(name);
    if (found == given_.end()) return fallback;
    auto values = std::move(found->second);
    given_.erase(found);
    return values;
  }
  /// One of `words`.
  Result<std::string> word(const std::string& name, const std::vector<std::string>& words) {
    const auto values = list(name, {words.front()});
    std::string all;
    for (const std::string& one : words) {
      if (values.size() == 1 && values.front() == one) return one;
      all += (all.empty() ? "`" : ", `") + one + "`";
    }
    return invalid("option `" + name + "` is `" + values.back() + "`; it must be one of " + all + ", once");
  }
  Result<bool> boolean(const std::string& name, bool fallback) {
    const Result<std::string> value = word(name, {fallback ? "true" : "false", fallback ? "false" : "true"});
    return value ? Result<bool>(*value == "true") : Result<bool>(value.error());
  }
  Result<std::int64_t> integer(const std::string& name, std::int64_t least, std::int64_t most, std::int64_t fallback) {
    const auto values = list(name, {std::to_string(fallback)});
    const std::string& text = values.front();
    std::int64_t number = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (values.size() == 1 && code == std::errc() && end == text.data() + text.size() && number >= least &&
        number <= most)
      return number;
    return invalid("option `" + name + "` is `" + values.back() + "`; it must be a whole number from " +
                   std::to_string(least) + " to " + std::to_string(most) + ", once");
  }
  Status finish(const std::string& kind) const {
    if (given_.empty()) return {};
    return invalid("a tokenizer of kind `" + kind + "` has no option `" + given_.begin()->first + "`; it has " +
                   known_);
  }

 private:
  std::map<std::string, std::vector<std::string>> given_;
  std::string known_;
};

}  // namespace baleen::text
