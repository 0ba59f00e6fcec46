/// \file Arrays take some care: rows must be of one length, and nothing may be mixed.
#include "frontend/toml/toml_value.hpp"

#include <utility>
#include <vector>

namespace baleen {
namespace {

bool all_of(const toml::array& array, bool (*test)(const toml::node&)) {
  for (const toml::node& item : array)
    if (!test(item)) return false;
  return true;
}

bool is_string(const toml::node& node) { return node.is_string(); }
bool is_number(const toml::node& node) { return node.is_number(); }
bool is_array(const toml::node& node) { return node.is_array(); }

void add_row(NumberTable& table, const toml::array& row) {
  for (const toml::node& item : row) table.numbers.push_back(number_of(item));
  table.columns = static_cast<std::int64_t>(row.size());
  ++table.rows;
}

std::vector<std::string> strings(const toml::array& array) {
  std::vector<std::string> items;
  for (const toml::node& item : array) items.push_back(*item.value<std::string>());
  return items;
}

Result<UserValue> from_array(const toml::array& array, const std::string& named, std::string where) {
  if (all_of(array, is_string)) return UserValue{strings(array), std::move(where)};
  NumberTable table;
  if (all_of(array, is_number)) {
    add_row(table, array);
    return UserValue{std::move(table), std::move(where)};
  }
  if (!all_of(array, is_array))
    return invalid(named + " mixes types; a list holds strings, numbers, or rows of numbers", where);
  for (const toml::node& item : array) {
    const toml::array& row = *item.as_array();
    if (!all_of(row, is_number)) return invalid(named + " must hold rows of numbers", where);
    if (table.rows > 0 && table.columns != static_cast<std::int64_t>(row.size()))
      return invalid(named + " has rows of " + std::to_string(table.columns) + " and of " + std::to_string(row.size()) +
                         " numbers; all must be of one length",
                     where);
    add_row(table, row);
  }
  return UserValue{std::move(table), std::move(where)};
}

}  // namespace

Result<UserValue> to_user_value(const toml::node& node, std::string_view name, std::string where) {
  const std::string named = std::string("`").append(name).append("`");
  if (const auto* flag = node.as_boolean()) return UserValue{flag->get(), std::move(where)};
  if (const auto* integer = node.as_integer()) return UserValue{integer->get(), std::move(where)};
  if (const auto* number = node.as_floating_point()) return UserValue{number->get(), std::move(where)};
  if (const auto* text = node.as_string()) return UserValue{text->get(), std::move(where)};
  if (const auto* array = node.as_array()) return from_array(*array, named, std::move(where));
  return invalid(named + " is " + std::string(type_of(node)) + ", which no option takes", std::move(where));
}

double number_of(const toml::node& node) {
  if (const auto* integer = node.as_integer()) return static_cast<double>(integer->get());
  return node.as_floating_point()->get();
}

std::string_view type_of(const toml::node& node) {
  if (node.is_boolean()) return "a boolean";
  if (node.is_integer()) return "an integer";
  if (node.is_floating_point()) return "a number";
  if (node.is_string()) return "a string";
  if (node.is_array()) return "an array";
  if (node.is_table()) return "a table";
  return "a date or time";
}

}  // namespace baleen
