/// \file Types and ranges of values.
#include "frontend/toml/toml_entry.hpp"

#include <utility>

#include "core/input/nearest.hpp"
#include "frontend/toml/toml_document.hpp"
#include "frontend/toml/toml_value.hpp"

namespace baleen {
namespace {

constexpr double kMostMebibytes = 1e9;

}  // namespace

std::vector<TomlEntry> entries(const toml::table& table) {
  std::vector<TomlEntry> out;
  for (auto&& [key, node] : table) {
    const std::string key_where = where_of(key.source());
    const std::string where = where_of(node.source());
    out.push_back({std::string(key.str()), &node, key_where, where.empty() ? key_where : where});
  }
  return out;
}

TomlEntry item_of(const TomlEntry& array, const toml::node& item) {
  const std::string where = where_of(item.source());
  return {array.key, &item, array.key_where, where.empty() ? array.where : where};
}

Error wrong_type(const TomlEntry& entry, std::string_view wanted) {
  return invalid("`" + entry.key + "` must be " + std::string(wanted) + ", not " + std::string(type_of(*entry.node)),
                 entry.where);
}

Error unknown_key(const TomlEntry& entry, std::span<const std::string> known) {
  return invalid(unknown_word("key", entry.key, known), entry.key_where);
}

Result<const toml::table*> as_table(const TomlEntry& entry) {
  if (const auto* table = entry.node->as_table()) return table;
  return wrong_type(entry, "a table");
}

Result<const toml::array*> as_array(const TomlEntry& entry, std::string_view wanted) {
  if (const auto* array = entry.node->as_array()) return array;
  return wrong_type(entry, wanted);
}

Result<std::string> as_string(const TomlEntry& entry) {
  if (!entry.node->is_string()) return wrong_type(entry, "a string");
  const std::string text = *entry.node->value<std::string>();
  if (text.empty()) return invalid("`" + entry.key + "` is empty", entry.where);
  return text;
}

Result<std::vector<std::string>> as_strings(const TomlEntry& entry) {
  BALEEN_TRY_ASSIGN(const toml::array* array, as_array(entry, "an array of strings"));
  std::vector<std::string> all;
  for (const toml::node& item : *array) {
    BALEEN_TRY_ASSIGN(std::string text, as_string(item_of(entry, item)));
    all.push_back(std::move(text));
  }
  return all;
}

Result<bool> as_boolean(const TomlEntry& entry) {
  if (const auto* flag = entry.node->as_boolean()) return flag->get();
  return wrong_type(entry, "true or false");
}

Result<std::int64_t> as_count(const TomlEntry& entry, std::int64_t most) {
  if (!entry.node->is_integer()) return wrong_type(entry, "a whole number");
  const std::int64_t count = *entry.node->value<std::int64_t>();
  if (count >= 1 && count <= most) return count;
  return invalid("`" + entry.key + "` must be from 1 to " + std::to_string(most) + ", not " + std::to_string(count),
                 entry.where);
}

Result<std::uint64_t> as_mebibytes(const TomlEntry& entry) {
  if (!entry.node->is_number()) return wrong_type(entry, "a number of MiB");
  const double mebibytes = number_of(*entry.node), bytes = mebibytes * 1048576.0;
  if (bytes >= 1 && mebibytes <= kMostMebibytes) return static_cast<std::uint64_t>(bytes);
  return invalid("`" + entry.key + "` must be a number of MiB above 0 and up to " + number_text(kMostMebibytes) +
                     ", not " + number_text(mebibytes),
                 entry.where);
}

Status add_option(const TomlEntry& entry, UserValues& options) {
  BALEEN_TRY_ASSIGN(UserValue value, to_user_value(*entry.node, entry.key, entry.where));
  value.key_where = entry.key_where;
  options.insert_or_assign(entry.key, std::move(value));
  return {};
}

}  // namespace baleen
