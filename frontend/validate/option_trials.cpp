/// \file Picks limits, words and strange texts, and keeps what the schema allows.
#include "frontend/validate/option_trials.hpp"

#include <string>

#include "core/plugin/option_value.hpp"

namespace baleen::validate {
namespace {

constexpr std::size_t kLongText = 4096;

/// Bounds, or what a schema without bounds lets in.
std::vector<double> numbers_at_limits(const Option& option) {
  if (option.has_range()) return {option.minimum, option.maximum};
  return {0, -1, 1, 1e15};
}

std::vector<UserValue::Data> candidates(const Option& option) {
  std::vector<UserValue::Data> all;
  for (const std::string& word : option.choices) all.emplace_back(word);
  switch (option.type) {
    case BALEEN_OPTION_BOOL: all.insert(all.end(), {false, true}); break;
    case BALEEN_OPTION_INT:
      for (const double number : numbers_at_limits(option)) all.emplace_back(static_cast<std::int64_t>(number));
      break;
    case BALEEN_OPTION_FLOAT:
    case BALEEN_OPTION_SCHEDULE:
      for (const double number : numbers_at_limits(option)) all.emplace_back(number);
      break;
    case BALEEN_OPTION_STRING:
      for (const std::string& text : {std::string(), std::string("missing/of.validate"), std::string(kLongText, 'x'),
                                      std::string("\xff\xfe\n\"")})
        all.emplace_back(text);
      if (option.many()) all.emplace_back(std::vector<std::string>{});
      break;
    case BALEEN_OPTION_TABLE:
      all.emplace_back(NumberTable{});
      all.emplace_back(NumberTable{{0.5}, 1, 1});
      break;
    default: break;
  }
  return all;
}

}  // namespace

std::vector<UserValue> trials_of(const Option& option) {
  std::vector<UserValue> trials;
  if (option.member()) return trials;
  for (UserValue::Data& data : candidates(option)) {
    UserValue value{std::move(data), "validate"};
    if (check_option(option, value)) trials.push_back(std::move(value));
  }
  return trials;
}

}  // namespace baleen::validate
