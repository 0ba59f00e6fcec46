/// \file How a user's value is named and shown in messages.
#include "core/input/user_value.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace baleen {
namespace {

struct Name {
  std::string_view operator()(bool) const { return "a boolean"; }
  std::string_view operator()(std::int64_t) const { return "an integer"; }
  std::string_view operator()(double) const { return "a number"; }
  std::string_view operator()(const std::string&) const { return "a string"; }
  std::string_view operator()(const NumberTable&) const { return "a table of numbers"; }
  std::string_view operator()(const std::vector<std::string>&) const { return "a list of strings"; }
  std::string_view operator()(const UserMember&) const { return "a plugin with options"; }
};

std::string row_text(const NumberTable& table, std::int64_t row) {
  std::string text = "[";
  for (std::int64_t column = 0; column < table.columns; ++column) {
    if (column) text += ", ";
    text += number_text(table.numbers[static_cast<std::size_t>(row * table.columns + column)]);
  }
  return text + "]";
}

struct Show {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return number_text(value); }
  std::string operator()(const std::string& value) const { return '"' + value + '"'; }
  std::string operator()(const NumberTable& value) const {
    if (value.rows == 1) return row_text(value, 0);
    std::string text = "[";
    for (std::int64_t row = 0; row < value.rows; ++row) text += (row ? ", " : "") + row_text(value, row);
    return text + "]";
  }
  std::string operator()(const std::vector<std::string>& value) const {
    std::string text = "[";
    for (const std::string& item : value) text += (text.size() > 1 ? ", \"" : "\"") + item + '"';
    return text + "]";
  }
  std::string operator()(const UserMember& value) const {
    std::string text = "{ plugin = \"" + value.plugin + '"';
    for (const auto& [name, option] : *value.options) text += ", " + name + " = " + option.text();
    return text + " }";
  }
};

}  // namespace

bool UserMember::operator==(const UserMember& other) const {
  return plugin == other.plugin && std::ranges::equal(*options, *other.options, [](const auto& a, const auto& b) {
           return a.first == b.first && a.second.data == b.second.data;
         });
}

std::string UserValue::text() const { return std::visit(Show{}, data); }
std::string_view UserValue::type() const { return std::visit(Name{}, data); }

std::string number_text(double number) {
  std::array<char, 32> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number).ptr;
  return std::string(buffer.data(), end);
}

}  // namespace baleen
