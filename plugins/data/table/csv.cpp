/// \file A small state-free CSV parser: one pass, one field at a time.
#include "csv.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

#include "baleen/packed.hpp"

namespace baleen::table {
namespace {

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

/// Where parsing stands.
struct Cursor {
  std::string_view text;
  char line_end = '\n';
  std::size_t at = 0, line = 1;

  bool done() const { return at == text.size(); }
  char peek() const { return text[at]; }
};

void skip_blanks(Cursor& cursor, char separator) {
  while (!cursor.done() && (cursor.peek() == ' ' || cursor.peek() == '\t') && cursor.peek() != separator) ++cursor.at;
}

/// A field in quotes; the cursor stands on the opening one. False where the closing one is missing.
bool quoted_field(Cursor& cursor, std::string& field) {
  for (++cursor.at; !cursor.done(); ++cursor.at) {
    if (cursor.peek() == cursor.line_end) ++cursor.line;
    if (cursor.peek() == '"') {
      ++cursor.at;
      if (cursor.done() || cursor.peek() != '"') return true;
    }
    field.push_back(cursor.peek());
  }
  return false;
}

std::string place(const std::string& path, std::size_t line) { return path + ":" + std::to_string(line); }

Result<CsvRow> parse_row(Cursor& cursor, char separator, const std::string& path) {
  CsvRow row{{}, cursor.line};
  for (;;) {
    std::string field;
    skip_blanks(cursor, separator);
    const bool quoted = !cursor.done() && cursor.peek() == '"';
    if (quoted && !quoted_field(cursor, field))
      return invalid("a quote is opened and never closed", place(path, row.line));
    const std::size_t start = cursor.at;
    while (!cursor.done() && cursor.peek() != separator && cursor.peek() != cursor.line_end) ++cursor.at;
    const auto rest = trimmed(cursor.text.substr(start, cursor.at - start));
    if (quoted && !rest.empty()) return invalid("text follows a closing quote", place(path, cursor.line));
    row.fields.push_back(quoted ? std::move(field) : std::string(rest));
    if (!cursor.done() && cursor.peek() == separator) {
      ++cursor.at;
      continue;
    }
    if (!cursor.done()) ++cursor.at, ++cursor.line;
    return row;
  }
}

/// What is no text would be split at whatever bytes happen to be there.
Status refuse_binary(std::string_view text, const std::string& path) {
  BALEEN_TRY(sdk::refuse_packed(text, path));
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff"))
    return invalid("is text in UTF-16; save it in UTF-8", path);
  const std::string_view begin = trimmed(text.substr(0, 64));
  if (begin.starts_with("{\"") || begin.starts_with("[{") || begin.starts_with("[\n"))
    return invalid("is JSON; a table is read from a CSV file", path);
  const std::size_t zero = text.find('\0');
  if (zero == text.npos) return {};
  return invalid("is a binary file (its byte " + std::to_string(zero) + " is 0); a table is read from a CSV file",
                 path);
}

}  // namespace

Result<std::string> read_text_file(const std::string& path) {
  const auto failed = [&](const char* what) {
    const int reason = errno;
    return Error{reason == ENOENT || reason == ENOTDIR ? BALEEN_NOT_FOUND : BALEEN_IO,
                 what + std::string(": ") + std::strerror(reason), path};
  };
  // A pipe that nobody writes to would be waited for without end, and each rank reads the file.
  std::error_code unknown;
  if (std::filesystem::is_fifo(path, unknown)) return invalid("is a pipe; a table is read from a file", path);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (!file) return failed("cannot open");
  std::string text;
  char block[1 << 16];
  while (const std::size_t got = std::fread(block, 1, sizeof(block), file.get())) text.append(block, got);
  if (std::ferror(file.get())) return failed("cannot read");
  if (text.empty()) return invalid("the file is empty", path);
  BALEEN_TRY(refuse_binary(text, path));
  return text;
}

Result<std::vector<CsvRow>> parse_csv(std::string_view text, char separator, const std::string& path) {
  // Old programs for the Macintosh, and an export of Excel that is named so, end lines in CR alone.
  const bool ends_in_cr = text.find('\n') == text.npos && text.find('\r') != text.npos;
  Cursor cursor{text, ends_in_cr ? '\r' : '\n'};
  if (text.starts_with("\xef\xbb\xbf")) cursor.at = 3;  // a byte order mark
  std::vector<CsvRow> rows;
  while (!cursor.done()) {
    BALEEN_TRY_ASSIGN(CsvRow row, parse_row(cursor, separator, path));
    if (row.fields.size() == 1 && row.fields[0].empty()) continue;
    if (!rows.empty() && row.fields.size() != rows[0].fields.size())
      return invalid("the row has " + std::to_string(row.fields.size()) + " fields, but the first has " +
                         std::to_string(rows[0].fields.size()),
                     place(path, row.line));
    rows.push_back(std::move(row));
  }
  if (rows.empty()) return invalid("the file has no rows", path);
  return rows;
}

}  // namespace baleen::table
