/// \file A value that a user gave for an option, with the place where it stands. Scripts, manifests and command lines
/// all end in this form; a plugin's schema turns it into settings.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace baleen {

/// Numbers row by row. A flat list is one row.
struct NumberTable {
  std::vector<double> numbers;
  std::int64_t rows = 0;
  std::int64_t columns = 0;

  bool operator==(const NumberTable&) const = default;
};

struct UserValue;
/// Option values by option name.
using UserValues = std::map<std::string, UserValue, std::less<>>;

/// A plugin that an option names, with options of its own.
struct UserMember {
  std::string plugin;                         ///< a name, or an absolute path
  std::shared_ptr<const UserValues> options;  ///< not null

  bool operator==(const UserMember& other) const;
};

/// `where` is "file:line:column", "--set key=value" or "--flag"; messages begin with it.
struct UserValue {
  using Data = std::variant<bool, std::int64_t, double, std::string, NumberTable, std::vector<std::string>, UserMember>;

  Data data;
  std::string where;
  std::string key_where = {};  ///< of the name before it, where that has a place of its own

  /// As a user would write it: `true`, `0.5`, `"text"`, `[[1, 2], [3, 4]]`.
  std::string text() const;
  /// "a boolean", "an integer", "a number", "a string", "a table of numbers", "a list of strings", "a plugin with
  /// options".
  std::string_view type() const;
};

/// A bound on the bytes of each rank, and where the user gave it.
struct MemoryBudget {
  std::uint64_t bytes = 0;
  std::string where;
};

/// The shortest text that reads back as `number`.
std::string number_text(double number);

}  // namespace baleen
