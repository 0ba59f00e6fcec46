/// \file Comma-separated text (RFC 4180) as fields, with the lines they stood on.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "baleen/result.hpp"

namespace baleen::table {

/// One row: its fields, without quotes and surrounding blanks, and the line it began on (from 1).
struct CsvRow {
  std::vector<std::string> fields;
  std::size_t line = 0;
};

/// The contents of a file. Fails where it is missing, unreadable or empty.
Result<std::string> read_text_file(const std::string& path);

/// Parses `text`; blank lines are skipped. Quoted fields may hold separators, line breaks and doubled quotes. Fails,
/// with `path:line`, where the rows have unequal numbers of fields or a quote is left open.
Result<std::vector<CsvRow>> parse_csv(std::string_view text, char separator, const std::string& path);

}  // namespace baleen::table
