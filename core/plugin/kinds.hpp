/// \file The kinds of plugin: their names, and the sizes of their function tables. The only list of families.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "baleen/base.h"

namespace baleen {

struct Kind {
  std::string_view name;
  std::uint64_t table_size;  ///< of the table this host knows
  std::uint64_t optional;    ///< bit i: the i-th function of the table may be null
  bool has_flags;            ///< an option may be a flag of the command line (`cli`)
  std::string_view folder;   ///< where its members live in the source tree
};

/// All kinds, in the order in which they are listed to users.
std::span<const Kind> kinds();
/// Null for a word that is no kind.
const Kind* find_kind(std::string_view name);
std::vector<std::string> kind_names();

}  // namespace baleen
