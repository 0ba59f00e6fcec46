/// \file Types, ranges and choices of option values.
#include "core/plugin/option_value.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "core/input/nearest.hpp"

namespace baleen {
namespace {

template <class T>
const T* get(const UserValue& value) {
  return std::get_if<T>(&value.data);
}

// Doubles beyond 2^63 have no int64_t, and converting them is undefined.
bool is_whole(double number) { return std::trunc(number) == number && std::abs(number) < 9.2e18; }

std::string named(const Option& option) { return "option `" + option.name + "`"; }

Error wrong_type(const Option& option, const UserValue& value, std::string_view wanted) {
  return invalid(named(option) + " takes " + std::string(wanted) + ", not " + std::string(value.type()) + " (" +
                     value.text() + ")",
                 value.where);
}

Status check_choice(const Option& option, const std::string& word, const std::string& where) {
  if (option.choices.empty() || std::ranges::count(option.choices, word)) return {};
  if (option.path() && word.find_first_of("/.") != std::string::npos) return {};
  return invalid(named(option) + ": " + unknown_word("choice", word, option.choices) +
                     (option.path() ? " (a path has a `/` or a `.` in it)" : ""),
                 where);
}

Status check_number(const Option& option, const UserValue& value) {
  const auto* number = get<double>(value);
  if (const auto* word = get<std::string>(value); word && !option.choices.empty())
    return check_choice(option, *word, value.where);
  if (!number && !get<std::int64_t>(value))
    return wrong_type(option, value, option.type == BALEEN_OPTION_INT ? "an integer" : "a number");
  if (number && std::isnan(*number)) return invalid(named(option) + " is not a number (nan)", value.where);
  if (option.type == BALEEN_OPTION_INT && number && !is_whole(*number)) return wrong_type(option, value, "an integer");
  const double given = as_number(value);
  if (!option.has_range() || (given >= option.minimum && given <= option.maximum)) return {};
  return invalid(named(option) + " must be from " + number_text(option.minimum) + " to " + number_text(option.maximum) +
                     ", not " + value.text(),
                 value.where);
}

Status check_string(const Option& option, const UserValue& value) {
  if (const auto* one = get<std::string>(value)) return check_choice(option, *one, value.where);
  if (option.member())
    return get<UserMember>(value) ? Status() : wrong_type(option, value, "a plugin's name, with options or without");
  if (get<bool>(value) || get<std::int64_t>(value) || get<double>(value))
    return invalid(named(option) + " takes a string; write " + value.text() + " in quotes, as in " + option.name +
                       " = \"" + value.text() + "\"",
                   value.where);
  const auto* list = get<std::vector<std::string>>(value);
  if (!list || !option.many())
    return wrong_type(option, value, option.many() ? "a string or a list of strings" : "a string");
  for (const std::string& item : *list) {
    if (item.empty())
      return invalid(
          named(option) + ": an empty string cannot stand in a list, which is without items where none is meant",
          value.where);
    if (item.find('\n') != std::string::npos)
      return invalid(named(option) + ": a line break cannot stand in an item of a list", value.where);
    BALEEN_TRY(check_choice(option, item, value.where));
  }
  return {};
}

Status check_table(const Option& option, const UserValue& value) {
  const auto* list = get<std::vector<std::string>>(value);
  if (get<NumberTable>(value) || (list && list->empty())) return {};
  return wrong_type(option, value, "a table of numbers");
}

template <class T>
bool parse_whole(std::string_view text, T& out) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), out);
  return code == std::errc() && end == text.data() + text.size();
}

}  // namespace

Result<UserValue> parse_option_text(const Option& option, std::string_view text, std::string where) {
  UserValue value{std::string(text), std::move(where)};
  std::int64_t integer = 0;
  double number = 0;
  switch (option.type) {
    case BALEEN_OPTION_BOOL:
      if (text == "true" || text == "false") value.data = text == "true";
      break;
    case BALEEN_OPTION_INT:
      if (parse_whole(text, integer)) value.data = integer;
      break;
    case BALEEN_OPTION_FLOAT:
    case BALEEN_OPTION_SCHEDULE:
      if (parse_whole(text, number)) value.data = number;
      break;
    default: break;  // a string stays one; for a table the check below refuses it
  }
  BALEEN_TRY(check_option(option, value));
  return value;
}

Status check_option(const Option& option, const UserValue& value) {
  switch (option.type) {
    case BALEEN_OPTION_BOOL:
      if (get<bool>(value)) return {};
      return wrong_type(option, value, "true or false");
    case BALEEN_OPTION_INT:
    case BALEEN_OPTION_FLOAT:
    case BALEEN_OPTION_SCHEDULE: return check_number(option, value);
    case BALEEN_OPTION_STRING: return check_string(option, value);
    case BALEEN_OPTION_TABLE: return check_table(option, value);
    default: return internal(named(option) + " has no known type", value.where);
  }
}

std::int64_t as_integer(const UserValue& value) {
  if (const auto* flag = get<bool>(value)) return *flag ? 1 : 0;
  if (const auto* number = get<double>(value)) return static_cast<std::int64_t>(*number);
  const auto* integer = get<std::int64_t>(value);
  return integer ? *integer : 0;
}

double as_number(const UserValue& value) {
  if (const auto* number = get<double>(value)) return *number;
  return static_cast<double>(as_integer(value));
}

}  // namespace baleen
