/// \file Reads ids of 64 bits, which no double holds, from the text of their fields.
#include "ids.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

namespace baleen::table {
namespace {

constexpr std::size_t kNameBytes = 31;  // of a field
constexpr const char* kLength = "_length";

/// "column `user`".
std::string title(const Column& column) { return "column `" + column.name + "`"; }

std::string place_of(const Table& table, std::size_t row) {
  return table.where + ":" + std::to_string(table.csv[row].line);
}

Result<std::int64_t> id_of(std::string_view text, const Column& column, const std::string& place) {
  const std::string_view digits = text.size() > 1 && text[0] == '+' && text[1] != '-' ? text.substr(1) : text;
  std::int64_t id = 0;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), id);
  const std::string what = title(column) + ": `" + std::string(text) + "` ";
  if (end != digits.data() + digits.size() || code == std::errc::invalid_argument)
    return invalid(what + "is no whole number; ids are numbers of 64 bits, so turn other names into such", place);
  if (code == std::errc::result_out_of_range)
    return invalid(what +
                       "is outside int64, -9223372036854775808 to 9223372036854775807; write hashes without a sign "
                       "less 2^64 where they are above",
                   place);
  return id;
}

std::vector<std::string_view> elements_of(std::string_view text, char separator) {
  std::vector<std::string_view> elements;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    std::string_view element = text.substr(0, end);
    while (element.starts_with(' ')) element.remove_prefix(1);
    while (element.ends_with(' ')) element.remove_suffix(1);
    if (separator != ' ' || !element.empty()) elements.push_back(element);
    if (end == text.size()) break;
    text.remove_prefix(end + 1);
    if (text.empty() && separator != ' ') elements.emplace_back();  // what stands behind the last separator
  }
  return elements;
}

/// Numbers of scripts are doubles.
Result<std::int64_t> id_of(double number, const Column& column, std::size_t row) {
  if (std::trunc(number) == number && std::abs(number) < 0x1p53) return static_cast<std::int64_t>(number);
  return invalid(title(column) + (std::isnan(number) ? " lacks an id" : " holds " + std::to_string(number)) +
                     "; ids in `rows` are whole numbers of less than 2^53, larger ones stand in a CSV file",
                 "row " + std::to_string(row + 1));
}

Status read_ids(const Table& table, std::size_t number, const std::vector<std::size_t>& order, IdField& out) {
  const Column& column = table.columns[number];
  for (const std::size_t row : order) {
    if (table.csv.empty()) {
      BALEEN_TRY_ASSIGN(const std::int64_t id, id_of(column.numbers[row], column, row));
      out.values.push_back(id);
      continue;
    }
    const std::string& text = table.csv[row].fields[number];
    if (text.empty())
      return invalid(title(column) + " lacks an id; write one for what is not known, as 0", place_of(table, row));
    BALEEN_TRY_ASSIGN(const std::int64_t id, id_of(text, column, place_of(table, row)));
    out.values.push_back(id);
  }
  return {};
}

Status read_lists(const Table& table, std::size_t number, const IdOptions& options,
                  const std::vector<std::size_t>& order, IdField& out) {
  const Column& column = table.columns[number];
  out.most = options.most;
  for (const std::size_t row : order) {
    auto elements = elements_of(table.csv[row].fields[number], options.separator);
    const auto most = static_cast<std::size_t>(options.most);
    if (elements.size() > most && !options.cut)
      return invalid(title(column) + " has a list of " + std::to_string(elements.size()) + " ids, above `most` = " +
                         std::to_string(most) + "; raise `most`, or set `longer` = \"cut\" to keep the first ones",
                     place_of(table, row));
    elements.resize(std::min(elements.size(), most));
    for (const std::string_view element : elements) {
      if (element.empty())
        return invalid(title(column) + ": the list `" + table.csv[row].fields[number] + "` has an empty id",
                       place_of(table, row));
      BALEEN_TRY_ASSIGN(const std::int64_t id, id_of(element, column, place_of(table, row)));
      out.values.push_back(id);
    }
    out.values.resize(out.values.size() + most - elements.size());
    out.lengths.push_back(static_cast<std::int32_t>(elements.size()));
  }
  return {};
}

/// The column's name, or "column_3" where the file gives it none.
std::string field_name(const Table& table, std::size_t number) {
  return table.named ? table.columns[number].name : "column_" + std::to_string(number + 1);
}

Status check_name(const std::string& name, bool list, std::set<std::string>& taken, const std::string& where) {
  const std::size_t most = kNameBytes - (list ? std::string_view(kLength).size() : 0);
  const auto wrong = [&](const std::string& why) {
    return invalid("column `" + name + "` cannot be a field of the data: " + why + "; rename it in the header", where);
  };
  if (name.empty()) return wrong("it has no name");
  if (name.size() > most) return wrong("its name is longer than " + std::to_string(most) + " bytes");
  if (!taken.insert(name).second || (list && !taken.insert(name + kLength).second))
    return wrong("there is another field of this name");
  return {};
}

Result<std::vector<std::size_t>> columns_of(const Table& table, const Settings& settings, std::string_view option,
                                            std::set<std::size_t>& taken) {
  std::vector<std::size_t> numbers;
  for (const std::string_view name : settings.list(option)) {
    BALEEN_TRY_ASSIGN(const std::size_t number, table.find(name));
    if (!taken.insert(number).second)
      return invalid("`" + std::string(option) + "` names `" + std::string(name) +
                         "`, which is named before; a column is named once, by `ids` or by `lists`",
                     table.where);
    numbers.push_back(number);
  }
  return numbers;
}

/// `lists` without `most`: the message says what it would have to be.
Error most_is_missing(const Table& table, const IdOptions& options) {
  std::size_t most = 0, at = 0;
  for (const std::size_t number : options.lists)
    for (std::size_t row = 0; row < table.rows; ++row)
      if (const auto length = elements_of(table.csv[row].fields[number], options.separator).size(); length > most)
        most = length, at = row;
  return invalid(
      "`lists` needs `most`, the most ids that a list may have" +
          (most > 0 ? "; the longest has " + std::to_string(most) + " (line " + std::to_string(table.csv[at].line) + ")"
                    : std::string()),
      table.where);
}

}  // namespace

bool IdOptions::holds(std::size_t column) const {
  return std::find(ids.begin(), ids.end(), column) != ids.end() ||
         std::find(lists.begin(), lists.end(), column) != lists.end();
}

Result<IdOptions> id_options(const Table& table, const Settings& settings) {
  IdOptions options;
  std::set<std::size_t> taken;
  BALEEN_TRY_ASSIGN(options.ids, columns_of(table, settings, "ids", taken));
  BALEEN_TRY_ASSIGN(options.lists, columns_of(table, settings, "lists", taken));
  const std::string_view word = settings.text("list_separator");
  options.separator = word == "space" ? ' ' : word == "comma" ? ',' : word == "semicolon" ? ';' : '|';
  options.most = settings.integer("most");
  options.cut = settings.text("longer") == "cut";
  const char* idle = options.most > 0 ? "most" : word != "bar" ? "list_separator" : options.cut ? "longer" : nullptr;
  if (options.lists.empty() && idle)
    return invalid("`" + std::string(idle) + "` is for `lists`, and no column is named there", table.where);
  if (!options.lists.empty() && table.csv.empty())
    return invalid("`lists` names columns of a CSV file; `rows` holds single numbers", table.where);
  if (!options.lists.empty() && options.most == 0) return most_is_missing(table, options);
  return options;
}

Result<std::vector<IdField>> id_fields(const Table& table, const IdOptions& options,
                                       const std::vector<std::size_t>& order) {
  std::vector<IdField> fields;
  std::set<std::string> taken{"features", "label"};
  for (const bool list : {false, true})
    for (const std::size_t number : list ? options.lists : options.ids) {
      IdField& field = fields.emplace_back(IdField{field_name(table, number), 0, {}, {}});
      BALEEN_TRY(check_name(field.name, list, taken, table.where));
      BALEEN_TRY(list ? read_lists(table, number, options, order, field) : read_ids(table, number, order, field));
    }
  return fields;
}

}  // namespace baleen::table
