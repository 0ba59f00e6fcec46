/// \file Looks at names, at columns that nearly are numeric, and at classes.
#include "doubts.hpp"

#include <algorithm>

namespace baleen::table {
namespace {

Status check_name(const Table& table, std::size_t number) {
  const std::string& name = table.columns[number].name;
  for (std::size_t other = 0; other < table.columns.size(); ++other)
    if (other != number && table.columns[other].name == name)
      return invalid("columns " + std::to_string(std::min(number, other) + 1) + " and " +
                         std::to_string(std::max(number, other) + 1) + " are both called `" + name +
                         "`; rename one in the header",
                     table.where);
  return {};
}

void add_mixed(const Column& column, std::vector<std::string>& doubts) {
  if (column.numeric || 2 * column.numbers_among < column.categories.size()) return;
  doubts.push_back("column `" + column.name + "` is read as " + std::to_string(column.names.size()) +
                   " categories, since it holds " + column.first_text + " among " +
                   std::to_string(column.numbers_among) + " numbers; mend the value where it should be one");
}

/// The number of the row's class among those of `facts`.
std::size_t class_of(const Column& label, const Facts& facts, std::size_t row) {
  if (!label.numeric) return static_cast<std::size_t>(label.categories[row]);
  const auto found = std::lower_bound(facts.class_values.begin(), facts.class_values.end(), label.numbers[row]);
  return static_cast<std::size_t>(found - facts.class_values.begin());
}

void add_untrained(const Column& label, const Facts& facts, const std::vector<std::size_t>& order, std::size_t train,
                   std::vector<std::string>& doubts) {
  std::vector<bool> trained(facts.classes.size());
  for (std::size_t i = 0; i < train; ++i) trained[class_of(label, facts, order[i])] = true;
  for (std::size_t number = 0; number < trained.size(); ++number)
    if (!trained[number])
      doubts.push_back(
          "class `" + facts.classes[number] + "` of column `" + label.name +
          "` stands in held-out rows alone, so nothing is learned of it; give more rows of it, or change `held_out`");
}

}  // namespace

Status check_names(const Table& table, const EncodingOptions& options) {
  if (!table.named) return {};
  if (options.has_label) BALEEN_TRY(check_name(table, options.label));
  for (const std::size_t number : options.features) BALEEN_TRY(check_name(table, number));
  return {};
}

std::vector<std::string> doubts_of(const Table& table, const EncodingOptions& options, const Facts& facts,
                                   const std::vector<std::size_t>& order, std::size_t train) {
  std::vector<std::string> doubts;
  for (const std::size_t number : options.features) add_mixed(table.columns[number], doubts);
  if (options.classify) {
    add_mixed(table.columns[options.label], doubts);
    add_untrained(table.columns[options.label], facts, order, train, doubts);
  }
  return doubts;
}

}  // namespace baleen::table
