/// \file Lines "option=value"; line breaks within values are escaped.
#include "core/plugin/member_text.hpp"

#include <algorithm>
#include <charconv>
#include <utility>
#include <variant>
#include <vector>

#include "core/plugin/option_value.hpp"

namespace baleen {
namespace {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\')
      out += "\\\\";
    else if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out;
}

std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '\\' && i + 1 < text.size();
    if (!escape)
      out += text[i];
    else
      out += text[++i] == 'n' ? '\n' : text[i];
  }
  return out;
}

/// A value as the lines that stand for it.
struct Lines {
  std::vector<std::string> operator()(bool value) const { return {value ? "true" : "false"}; }
  std::vector<std::string> operator()(std::int64_t value) const { return {std::to_string(value)}; }
  std::vector<std::string> operator()(double value) const { return {number_text(value)}; }
  std::vector<std::string> operator()(const std::string& value) const { return {value}; }
  std::vector<std::string> operator()(const std::vector<std::string>& value) const {
    return value.empty() ? std::vector<std::string>{""} : value;
  }
  std::vector<std::string> operator()(const UserMember& value) const { return {member_text(value)}; }
  std::vector<std::string> operator()(const NumberTable& value) const {
    std::string text;
    for (std::size_t i = 0; i < value.numbers.size(); ++i) {
      const bool begins_row = i % static_cast<std::size_t>(value.columns) == 0;
      text += (i == 0 ? "" : begins_row ? ";" : ",") + number_text(value.numbers[i]);
    }
    return {text};
  }
};

/// Takes what stands before `mark`, and the mark.
std::string_view take(std::string_view& text, char mark) {
  const std::size_t end = std::min(text.find(mark), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

Result<UserValue> read_table(const Option& option, std::string_view text, const std::string& where) {
  NumberTable table;
  while (!text.empty()) {
    std::string_view row = take(text, ';');
    const std::size_t before = table.numbers.size();
    while (!row.empty()) {
      const std::string_view word = take(row, ',');
      double& number = table.numbers.emplace_back();
      const auto [end, code] = std::from_chars(word.data(), word.data() + word.size(), number);
      if (code != std::errc() || end != word.data() + word.size())
        return invalid("option `" + option.name + "`: `" + std::string(word) + "` is no number", where);
    }
    const auto columns = static_cast<std::int64_t>(table.numbers.size() - before);
    if (table.rows++ > 0 && columns != table.columns)
      return invalid("option `" + option.name + "` has rows of " + std::to_string(table.columns) + " and of " +
                         std::to_string(columns) + " numbers; all must be of one length",
                     where);
    table.columns = columns;
  }
  return UserValue{std::move(table), where};
}

Result<UserValue> read_value(const Option& option, std::vector<std::string> lines, const std::string& where) {
  if (option.many()) {
    if (lines == std::vector<std::string>{""}) lines.clear();
    return UserValue{std::move(lines), where};
  }
  if (lines.size() > 1) return invalid("option `" + option.name + "` is given twice", where);
  if (option.type == BALEEN_OPTION_TABLE) return read_table(option, lines.front(), where);
  return parse_option_text(option, lines.front(), where);
}

}  // namespace

std::string member_text(const UserMember& member) {
  std::string text = member.plugin;
  for (const auto& [name, value] : *member.options)
    for (const std::string& line : std::visit(Lines{}, value.data)) text += '\n' + name + '=' + escaped(line);
  return text;
}

std::string_view member_name(std::string_view text) { return text.substr(0, text.find('\n')); }

Result<UserValues> member_options(std::string_view text, const Descriptor& descriptor) {
  const std::string where = "the options of " + title_of(descriptor);
  std::map<std::string, std::vector<std::string>, std::less<>> given;
  take(text, '\n');
  while (!text.empty()) {
    std::string_view line = take(text, '\n');
    if (line.find('=') == line.npos) return invalid("`" + std::string(line) + "` is no option=value", where);
    std::vector<std::string>& lines = given[std::string(take(line, '='))];
    lines.push_back(unescaped(line));
  }
  UserValues values;
  for (auto& [name, lines] : given) {
    const Option* option = descriptor.find(name);
    if (!option) {
      values.insert_or_assign(name, UserValue{lines.front(), where});
      continue;
    }
    BALEEN_TRY_ASSIGN(UserValue value, read_value(*option, std::move(lines), where));
    values.insert_or_assign(name, std::move(value));
  }
  return values;
}

}  // namespace baleen
