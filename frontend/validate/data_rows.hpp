/// \file A data set in the hands of a case: rows are read between guards.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "baleen/data.h"
#include "baleen/host.hpp"
#include "frontend/validate/subject.hpp"

namespace baleen::validate {

/// "train" or "held-out".
std::string split_name(baleen_split_t split);

/// The bytes of one field of all the rows that were read, row after row.
using FieldBytes = std::vector<unsigned char>;

/// The elements of a field of this type.
template <class Element>
std::vector<Element> elements_of(const FieldBytes& bytes);

class Rows {
 public:
  static constexpr std::int64_t kMostRows = 4096;  ///< that a case compares

  /// Throws Failure where `info` says what cannot be. `create`: for messages.
  Rows(const Subject& subject, const Opened& plugin, std::uint64_t seed = 1, std::string_view create = "`create`");

  const baleen_dataset_info_t& info() const { return info_; }
  void* handle() const { return made_.get(); }
  const baleen_data_t& table() const { return made_.table(); }
  std::int64_t rows(baleen_split_t split) const { return info_.rows[split]; }
  /// The splits that have rows.
  std::vector<baleen_split_t> splits() const;
  /// Whether one row is small enough to be read here.
  bool row_fits() const;
  /// How many rows a case may read at once; one where a row is larger.
  std::int64_t most() const;
  std::int64_t at_most(std::int64_t wanted) const { return std::min(most(), wanted); }
  /// Two epochs and some rows of a third, or as much of them as a case may read.
  std::int64_t some_epochs(baleen_split_t split) const {
    return at_most(std::min<std::int64_t>(kMostRows, 2 * rows(split) + 3));
  }
  std::size_t row_bytes(std::size_t field) const { return row_bytes_[field]; }

  /// Each field of these rows. What lies around the arrays must stay.
  std::vector<FieldBytes> read_fields(baleen_split_t split, std::int64_t first, std::int64_t count,
                                      unsigned char fill = 0xcd) const;
  /// Each row with all its fields.
  std::vector<std::string> read(baleen_split_t split, std::int64_t first, std::int64_t count,
                                unsigned char fill = 0xcd) const;

 private:
  const Opened& plugin_;
  SettingsStorage settings_;
  Made<baleen_data_t> made_;
  baleen_dataset_info_t info_{};
  std::vector<std::size_t> row_bytes_;
};

/// The table of an extension of the data set; null where it has none. Throws Failure where it is too small.
template <class Extension>
const Extension* extension_of(const Opened& plugin, const Rows& data, const char* name) {
  if (!data.table().query) return nullptr;
  const void* const found = plugin.call("`query`", data.table().query, data.handle(), abi(name));
  const auto* const table = static_cast<const Extension*>(found);
  if (table && table->size < sizeof(Extension)) throw Failure(std::string(name) + ": its table has too small a size");
  return table;
}

template <class Element>
std::vector<Element> elements_of(const FieldBytes& bytes) {
  std::vector<Element> all(bytes.size() / sizeof(Element));
  if (!all.empty()) std::memcpy(all.data(), bytes.data(), all.size() * sizeof(Element));
  return all;
}

}  // namespace baleen::validate
