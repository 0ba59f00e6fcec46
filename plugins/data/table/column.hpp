/// \file A column of a table: numbers or categories, from CSV fields or from Lua arrays.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "baleen/plugin.hpp"
#include "csv.hpp"

namespace baleen::table {

/// Numeric where every field that is there is a finite number; else categories, numbered in their names' order.
struct Column {
  std::string name;
  bool numeric = true;
  std::vector<double> numbers;           // numeric: a NaN is missing
  std::vector<std::int32_t> categories;  // else: -1 is missing
  std::vector<std::string> names;        // of the categories
  std::string first_text;                // "`Private` (adult.csv:1)": why the column is not numeric
  std::size_t numbers_among = 0;         // of a column of categories: fields that would be numbers
  std::string first_missing;             // where the first missing field is; "" if none is

  bool is_missing(std::size_t row) const;
};

/// Columns of equal length.
struct Table {
  std::vector<Column> columns;
  std::size_t rows = 0;
  std::string where;        // the file, or "rows"
  bool named = false;       // columns have names of their own, not their numbers
  std::vector<CsvRow> csv;  // of a file: its rows as text

  /// Finds out what a column of a file holds; before that it has a name alone.
  void read(std::size_t number);
  /// The same of one that is known to hold numbers, or categories. Fails, with the place, on text among numbers.
  Status read_as(std::size_t number, bool numeric);
  /// Of a row, for messages: "adult.csv:7".
  std::string place(std::size_t row) const;

  /// The column of that name, or else of that number (from 1). Fails with the names there are.
  Result<std::size_t> find(std::string_view name_or_number) const;
};

/// Of columns that are yet to be read. "auto": the first row is a header where none of its fields is a number and some
/// field of the second is; or, where `known` names columns, where it has one of them.
Result<Table> table_from_csv(std::vector<CsvRow> rows, std::string_view header, const std::string& path,
                             const std::vector<std::string>& known = {});

/// From the TABLE option; NaN is missing, an infinity an error.
Result<Table> table_from_numbers(const baleen_setting_t& rows);

}  // namespace baleen::table
