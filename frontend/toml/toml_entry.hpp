/// \file A key of a TOML table with its value, read as what it must be. Private to this folder.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "baleen/result.hpp"
#include "core/input/user_value.hpp"
#include "frontend/toml/toml_include.hpp"

namespace baleen {

/// Ranks of a job, and whatever else is counted.
constexpr std::int64_t kMostRanks = 1 << 20;

/// A key with its value, and the places of both.
struct TomlEntry {
  std::string key;
  const toml::node* node;
  std::string key_where;
  std::string where;
};

std::vector<TomlEntry> entries(const toml::table& table);
/// An item of an array, as an entry of the array's name.
TomlEntry item_of(const TomlEntry& array, const toml::node& item);

Error wrong_type(const TomlEntry& entry, std::string_view wanted);
Error unknown_key(const TomlEntry& entry, std::span<const std::string> known);

Result<const toml::table*> as_table(const TomlEntry& entry);
Result<const toml::array*> as_array(const TomlEntry& entry, std::string_view wanted);
/// Not empty.
Result<std::string> as_string(const TomlEntry& entry);
/// Of strings that are not empty.
Result<std::vector<std::string>> as_strings(const TomlEntry& entry);
Result<bool> as_boolean(const TomlEntry& entry);
/// From 1 to `most`.
Result<std::int64_t> as_count(const TomlEntry& entry, std::int64_t most = kMostRanks);
/// A number of MiB, fractions too, as whole bytes.
Result<std::uint64_t> as_mebibytes(const TomlEntry& entry);

/// Puts the entry among a member's options.
Status add_option(const TomlEntry& entry, UserValues& options);

}  // namespace baleen
