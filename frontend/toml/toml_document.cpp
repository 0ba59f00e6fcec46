/// \file Parsing, and the overrides of the command line.
#include "frontend/toml/toml_document.hpp"

#include <algorithm>
#include <cctype>
#include <memory>
#include <sstream>
#include <utility>
#include <vector>

namespace baleen {
namespace {

constexpr std::string_view kSet = "--set ";
constexpr const char* kValueKey = "value";
constexpr std::size_t kMostParts = 1000;
constexpr const char* kEndless = "syntax error: a key of more than 1000 parts";

/// toml++ says "Error while parsing array: encountered end-of-file".
std::string what_is_wrong(std::string_view description) {
  constexpr std::string_view kParsing = "Error while parsing ", kEnd = "encountered end-of-file";
  const std::size_t colon = description.find(": ");
  if (!description.starts_with(kParsing) || colon == description.npos) return std::string(description);
  const std::string_view reason = description.substr(colon + 2);
  if (reason != kEnd) return std::string(reason);
  return "the text ends within the " + std::string(description.substr(kParsing.size(), colon - kParsing.size()));
}

bool is_bare(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-'; }

/// Whether a key, "a.b.c", has more parts than any needs. Each is a table in the one before, and freeing them takes a
/// stack as deep.
bool has_endless_key(std::string_view text) {
  std::size_t parts = 0;
  char quote = 0;
  for (const char c : text) {
    if (c == '\n' || (c == quote && quote)) {
      quote = 0;
      if (c == '\n') parts = 0;
    } else if (!quote && (c == '"' || c == '\'')) {
      quote = c;
    } else if (!quote && c == '.') {
      if (++parts > kMostParts) return true;
    } else if (!quote && !is_bare(c) && c != ' ' && c != '\t') {
      parts = 0;
    }
  }
  return false;
}

Result<toml::table> parse(std::string_view text, const std::string& name) {
  if (has_endless_key(text)) return invalid(kEndless, name);
  try {
    return toml::parse(text, name);
  } catch (const toml::parse_error& e) {
    return invalid("syntax error: " + what_is_wrong(e.description()), where_of(e.source()));
  }
}

bool is_bare_key(std::string_view key) { return !key.empty() && std::ranges::all_of(key, is_bare); }

Result<std::vector<std::string>> split_key(std::string_view key, const std::string& where) {
  std::vector<std::string> words;
  while (true) {
    const std::size_t dot = std::min(key.find('.'), key.size());
    if (!is_bare_key(key.substr(0, dot)))
      return invalid("the key must be words joined by dots, as in compute.plugin", where);
    words.emplace_back(key.substr(0, dot));
    if (words.size() > kMostParts) return invalid(kEndless, where);
    if (dot == key.size()) return words;
    key.remove_prefix(dot + 1);
  }
}

/// The table with one entry, `value`. A bare word is a string, so that users need not quote twice for their shell.
Result<toml::table> parse_value(const std::string& text, const std::string& where) {
  Result<toml::table> parsed = parse(std::string(kValueKey) + " = " + text, where);
  if (parsed && parsed->size() == 1) return parsed;
  const bool quoted = !text.empty() && std::string_view("\"'[{").find(text.front()) != std::string_view::npos;
  if (quoted && !parsed) return parsed;
  toml::table word;
  word.insert(kValueKey, text);
  return word;
}

Status apply_set(toml::table& root, const std::string& set) {
  const std::string where = std::string(kSet) + set;
  const std::size_t equals = set.find('=');
  if (equals == std::string::npos) return invalid("needs KEY=VALUE", where);
  BALEEN_TRY_ASSIGN(const auto words, split_key(set.substr(0, equals), where));
  BALEEN_TRY_ASSIGN(toml::table parsed, parse_value(set.substr(equals + 1), where));

  const toml::source_region source{{1, 1}, {1, 1}, std::make_shared<const std::string>(where)};
  toml::table* table = &root;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    toml::node* next = table->get(words[i]);
    if (!next) next = &table->insert(toml::key(words[i], source), toml::table()).first->second;
    if (next->is_boolean()) next = &table->insert_or_assign(toml::key(words[i], source), toml::table()).first->second;
    if (!next->is_table())
      return invalid("`" + words[i] + "` is no table, so it has no key `" + words[i + 1] + "`", where);
    table = next->as_table();
  }
  // Assigning keeps the old key's position, and messages must name the override.
  table->erase(words.back());
  parsed.get(kValueKey)->visit([&](auto& node) { table->insert(toml::key(words.back(), source), std::move(node)); });
  return {};
}

void write_flat(const std::string& name, const toml::node& node, std::ostringstream& out) {
  if (const auto* table = node.as_table()) {
    for (auto&& [key, value] : *table)
      write_flat((name.empty() ? "" : name + ".") + std::string(key.str()), value, out);
  } else if (const auto* array = node.as_array()) {
    for (std::size_t i = 0; i < array->size(); ++i)
      write_flat(name + "[" + std::to_string(i) + "]", *array->get(i), out);
  } else {
    out << name << " = ";
    node.visit([&](const auto& value) {
      if constexpr (toml::is_value<decltype(value)>) out << value;
    });
    out << '\n';
  }
}

}  // namespace

std::string flat_text(const toml::table& root) {
  std::ostringstream out;
  write_flat({}, root, out);
  return out.str();
}

Result<toml::table> read_document(std::string_view text, const std::string& name, std::span<const std::string> sets) {
  BALEEN_TRY_ASSIGN(toml::table root, parse(text, name));
  for (const std::string& set : sets) BALEEN_TRY(apply_set(root, set));
  return root;
}

std::string where_of(const toml::source_region& source) {
  if (!source.path) return {};
  if (from_set(*source.path)) return *source.path;
  return *source.path + ":" + std::to_string(source.begin.line) + ":" + std::to_string(source.begin.column);
}

bool from_set(std::string_view where) { return where.starts_with(kSet); }

}  // namespace baleen
