/// \file Columns of ids of 64 bits: one in each row, or a list of them.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "baleen/settings.hpp"
#include "column.hpp"

namespace baleen::table {

/// Which columns hold ids, and how their lists are written.
struct IdOptions {
  std::vector<std::size_t> ids, lists;  // column numbers
  char separator = '|';
  std::int64_t most = 0;  // ids in a list
  bool cut = false;       // longer lists keep their first ids, and are not refused

  bool holds(std::size_t column) const;
};

/// Of the options `ids`, `lists`, `list_separator`, `most` and `longer`. Fails for columns that are not there or are
/// named twice.
Result<IdOptions> id_options(const Table& table, const Settings& settings);

/// A field of ids, rows side by side.
struct IdField {
  std::string name;
  std::int64_t most = 0;              // of lists: ids in a row, those behind the list's own are 0; 0: one id
  std::vector<std::int64_t> values;   // a row after the other
  std::vector<std::int32_t> lengths;  // of lists
};

/// The ids, then the lists, in the given order of rows. Fails where a field holds no int64 or a list is too long, with
/// its line, and where columns cannot be fields by their names.
Result<std::vector<IdField>> id_fields(const Table& table, const IdOptions& options,
                                       const std::vector<std::size_t>& order);

}  // namespace baleen::table
