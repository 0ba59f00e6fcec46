/// \file The kinds of plugin: their names, their function tables, their revisions. The only list of families.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "baleen/base.h"

namespace baleen {

/// A function of a kind's table, in the table's order.
struct TableFunction {
  std::string_view name;
  bool may_be_null;
};

struct Kind {
  std::string_view name;
  std::uint64_t table_size;                  ///< of the table this host knows
  std::span<const TableFunction> functions;  ///< of the table
  std::uint32_t revision;                    ///< of the interface this host knows (baleen/kind.h)
  bool is_draft;                             ///< of its interface no earlier revision is accepted
  bool has_flags;                            ///< an option may be a flag of the command line (`cli`)
  std::string_view folder;                   ///< where its members live in the source tree
};

/// All kinds, in the order in which they are listed to users.
std::span<const Kind> kinds();
/// Null for a word that is no kind.
const Kind* find_kind(std::string_view name);
std::vector<std::string> kind_names();

}  // namespace baleen
