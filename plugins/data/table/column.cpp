/// \file Decides what each column holds: numbers or categories.
#include "column.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

namespace baleen::table {
namespace {

bool means_missing(std::string_view field) {
  return field.empty() || field == "?" || field == "NA" || field == "NaN" || field == "nan";
}

std::optional<double> number_of(std::string_view field) {
  if (field.starts_with('+')) field.remove_prefix(1);
  double number = 0;
  const auto [end, code] = std::from_chars(field.data(), field.data() + field.size(), number);
  if (code != std::errc() || end != field.data() + field.size() || !std::isfinite(number)) return {};
  return number;
}

bool has_number(const CsvRow& row) {
  return std::any_of(row.fields.begin(), row.fields.end(),
                     [](const auto& field) { return number_of(field).has_value(); });
}

bool has_header(const std::vector<CsvRow>& rows, std::string_view option, const std::vector<std::string>& known) {
  if (option != "auto") return option == "true";
  const std::vector<std::string>& first = rows[0].fields;
  const auto is_there = [&](const std::string& name) {
    return std::find(first.begin(), first.end(), name) != first.end();
  };
  if (!known.empty()) return std::any_of(known.begin(), known.end(), is_there);
  return !has_number(rows[0]) && (rows.size() == 1 || has_number(rows[1]));
}

void make_categories(Column& column, const std::vector<CsvRow>& rows, std::size_t number) {
  column.numeric = false;
  column.numbers.clear();
  column.numbers_among = 0;
  for (const CsvRow& row : rows) {
    if (!means_missing(row.fields[number])) column.names.push_back(row.fields[number]);
    if (number_of(row.fields[number])) ++column.numbers_among;
  }
  std::sort(column.names.begin(), column.names.end());
  column.names.erase(std::unique(column.names.begin(), column.names.end()), column.names.end());
  for (const CsvRow& row : rows) {
    const auto found = std::lower_bound(column.names.begin(), column.names.end(), row.fields[number]);
    const bool missing = means_missing(row.fields[number]);
    column.categories.push_back(missing ? -1 : static_cast<std::int32_t>(found - column.names.begin()));
  }
}

Column column_of(const std::vector<CsvRow>& rows, std::size_t number, const std::string& path) {
  Column column;
  for (const CsvRow& row : rows) {
    const std::string& field = row.fields[number];
    const std::string place = path + ":" + std::to_string(row.line);
    if (means_missing(field)) {
      if (column.first_missing.empty()) column.first_missing = place;
      column.numbers.push_back(std::numeric_limits<double>::quiet_NaN());
    } else if (const auto value = number_of(field)) {
      column.numbers.push_back(*value);
    } else {
      column.first_text = "`" + field + "` (" + place + ")";
      break;
    }
  }
  if (!column.first_text.empty()) make_categories(column, rows, number);
  if (!column.numeric && column.first_missing.empty()) {
    const auto missing = std::find(column.categories.begin(), column.categories.end(), -1);
    if (missing != column.categories.end())
      column.first_missing =
          path + ":" + std::to_string(rows[static_cast<std::size_t>(missing - column.categories.begin())].line);
  }
  return column;
}

}  // namespace

bool Column::is_missing(std::size_t row) const { return numeric ? std::isnan(numbers[row]) : categories[row] < 0; }

void Table::read(std::size_t number) {
  if (csv.empty()) return;
  std::string name = std::move(columns[number].name);
  columns[number] = column_of(csv, number, where);
  columns[number].name = std::move(name);
}

Status Table::read_as(std::size_t number, bool numeric) {
  if (!csv.empty()) read(number);
  Column& column = columns[number];
  if (numeric == column.numeric) return {};
  if (numeric)
    return invalid("column `" + column.name + "` held numbers in training, and here " + column.first_text, where);
  if (csv.empty()) return invalid("column `" + column.name + "` held text in training, and here numbers", where);
  make_categories(column, csv, number);
  return {};
}

std::string Table::place(std::size_t row) const {
  return csv.empty() ? "row " + std::to_string(row + 1) : where + ":" + std::to_string(csv[row].line);
}

Result<std::size_t> Table::find(std::string_view name_or_number) const {
  for (std::size_t i = 0; i < columns.size(); ++i)
    if (columns[i].name == name_or_number) return i;
  std::size_t number = 0;
  const char* end = name_or_number.data() + name_or_number.size();
  const auto parsed = std::from_chars(name_or_number.data(), end, number);
  if (parsed.ec == std::errc() && parsed.ptr == end && number >= 1 && number <= columns.size()) return number - 1;
  std::vector<std::string> names;
  for (const Column& column : columns) names.push_back(column.name);
  const bool hides_names = !named && !csv.empty() && !has_number(csv.front());
  if (hides_names) names = csv.front().fields;
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "`" : ", `") + name + "`";
  const std::string numbers = "1 to " + std::to_string(columns.size());
  const std::string there = hides_names
                                ? "the first row, " + list + ", is taken for data, so the columns are " + numbers
                                : "the columns are " + list + ", or " + numbers;
  return invalid("no column `" + std::string(name_or_number) + "`; " + there, where);
}

Result<Table> table_from_csv(std::vector<CsvRow> rows, std::string_view header, const std::string& path,
                             const std::vector<std::string>& known) {
  Table table;
  table.where = path;
  std::vector<std::string> names;
  if (has_header(rows, header, known)) {
    names = std::move(rows.front().fields);
    rows.erase(rows.begin());
    if (rows.empty()) return invalid("the file has a header, but no rows", path);
  }
  table.named = !names.empty();
  table.rows = rows.size();
  table.columns.resize(rows[0].fields.size());
  for (std::size_t number = 0; number < table.columns.size(); ++number)
    table.columns[number].name = table.named ? names[number] : std::to_string(number + 1);
  table.csv = std::move(rows);
  return table;
}

Result<Table> table_from_numbers(const baleen_setting_t& rows) {
  Table table;
  table.where = "rows";
  table.rows = static_cast<std::size_t>(rows.rows);
  const auto width = static_cast<std::size_t>(rows.columns);
  table.columns.resize(width);
  for (std::size_t number = 0; number < width; ++number) {
    Column& column = table.columns[number];
    column.name = std::to_string(number + 1);
    for (std::size_t row = 0; row < table.rows; ++row) {
      const double value = rows.table[row * width + number];
      const std::string place = "row " + std::to_string(row + 1);
      if (std::isinf(value)) return invalid("column " + column.name + " holds an infinity", place);
      if (std::isnan(value) && column.first_missing.empty()) column.first_missing = place;
      column.numbers.push_back(value);
    }
  }
  return table;
}

}  // namespace baleen::table
