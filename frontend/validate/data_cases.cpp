/// \file What every data plugin must do: rows are a pure function of seed and position.
#include <algorithm>
#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "baleen/data.h"
#include "baleen/dtype.hpp"
#include "baleen/host.hpp"
#include "frontend/validate/cases.hpp"

namespace baleen::validate {
namespace {

constexpr std::size_t kGuard = 64;                    // bytes before and behind each array
constexpr std::size_t kMostBytes = 32 * 1024 * 1024;  // of one read
constexpr std::int64_t kMostRows = 4096;              // of an epoch that is read whole

std::string split_name(baleen_split_t split) { return split == BALEEN_TRAIN ? "train" : "held-out"; }

bool ends_within(const char* text, std::size_t size) { return std::memchr(text, 0, size) != nullptr; }

void check_field(const baleen_field_t& field, std::uint32_t number) {
  const std::string which = "field " + std::to_string(number);
  if (!ends_within(field.name, sizeof field.name)) throw Failure(which + ": its name does not end");
  if (!field.name[0]) throw Failure(which + " has no name");
  const std::string name = which + " (`" + field.name + "`)";
  if (field.dtype != BALEEN_F32 && field.dtype != BALEEN_I32 && field.dtype != BALEEN_I64 && field.dtype != BALEEN_U8)
    throw Failure(name + " has dtype " + std::to_string(field.dtype) + "; data may have F32, I32, I64 and U8");
  if (field.rank >= BALEEN_MAX_RANK)
    throw Failure(name + " has rank " + std::to_string(field.rank) + "; with the batch there are at most 8 dimensions");
  for (std::uint32_t d = 0; d < field.rank; ++d) {
    if (field.shape[d] < 1) throw Failure(name + " has extent " + std::to_string(field.shape[d]));
    if (!ends_within(field.axes[d], sizeof field.axes[d])) throw Failure(name + ": the name of an axis does not end");
  }
}

void check_info(const baleen_dataset_info_t& info) {
  if (info.field_count < 1 || info.field_count > BALEEN_MAX_FIELDS)
    throw Failure("`info` says that rows have " + std::to_string(info.field_count) + " fields; there are 1 to 16");
  std::set<std::string> names;
  for (std::uint32_t i = 0; i < info.field_count; ++i) {
    check_field(info.fields[i], i);
    if (!names.insert(info.fields[i].name).second)
      throw Failure("`info` names two fields `" + std::string(info.fields[i].name) + "`");
  }
  if (info.rows[BALEEN_TRAIN] < 1) throw Failure("`info` says that there are no rows to train on");
  if (info.rows[BALEEN_HELD_OUT] < 0) throw Failure("`info` says that fewer than 0 rows are held out");
  if (info.classes < 0) throw Failure("`info` says that there are fewer than 0 classes");
  if (!(info.units_per_row > 0)) throw Failure("`units_per_row` is not above 0");
  if (!ends_within(info.unit, sizeof info.unit) || !info.unit[0]) throw Failure("`unit` is empty or does not end");
  if (!ends_within(info.summary, sizeof info.summary)) throw Failure("`summary` does not end");
}

/// A data set in the hands of a case.
class Rows {
 public:
  Rows(const Subject& subject, const Opened& plugin, std::uint64_t seed = 1)
      : plugin_(plugin), settings_(settings_of(subject, {}, seed)), made_(plugin, settings_.get()) {
    info_.size = sizeof info_;
    plugin_.ok("`info`", made_.table().info, made_.get(), &info_);
    check_info(info_);
    for (std::uint32_t i = 0; i < info_.field_count; ++i) {
      std::size_t bytes = dtype_size(info_.fields[i].dtype);
      for (std::uint32_t d = 0; d < info_.fields[i].rank; ++d)
        bytes *= static_cast<std::size_t>(info_.fields[i].shape[d]);
      row_bytes_.push_back(bytes);
    }
  }

  const baleen_dataset_info_t& info() const { return info_; }
  void* handle() const { return made_.get(); }
  const baleen_data_t& table() const { return made_.table(); }
  std::int64_t rows(baleen_split_t split) const { return info_.rows[split]; }
  /// How many rows a case may read at once.
  std::int64_t most() const {
    std::size_t bytes = 0;
    for (const std::size_t one : row_bytes_) bytes += one;
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(kMostBytes / std::max<std::size_t>(bytes, 1)));
  }

  /// Each row with all its fields. What lies around the arrays must stay.
  std::vector<std::string> read(baleen_split_t split, std::int64_t first, std::int64_t count,
                                unsigned char fill = 0xcd) const {
    std::vector<std::vector<unsigned char>> arrays;
    std::vector<void*> buffers;
    for (const std::size_t bytes : row_bytes_)
      arrays.emplace_back(kGuard + bytes * static_cast<std::size_t>(count) + kGuard, fill);
    for (auto& array : arrays) buffers.push_back(array.data() + kGuard);
    const std::string name =
        "`read` of " + std::to_string(count) + " " + split_name(split) + " rows from " + std::to_string(first);
    plugin_.ok(name, made_.table().read, made_.get(), split, first, count, static_cast<void* const*>(buffers.data()));
    std::vector<std::string> all(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      check_guards(arrays[i], fill, name + ", field `" + info_.fields[i].name + "`");
      for (std::size_t row = 0; row < all.size(); ++row)
        all[row].append(reinterpret_cast<const char*>(arrays[i].data()) + kGuard + row * row_bytes_[i], row_bytes_[i]);
    }
    return all;
  }

 private:
  static void check_guards(const std::vector<unsigned char>& array, unsigned char fill, const std::string& name) {
    for (std::size_t i = 0; i < kGuard; ++i) {
      if (array[i] != fill) throw Failure(name + ": it writes before the array");
      if (array[array.size() - 1 - i] != fill) throw Failure(name + ": it writes behind the array");
    }
  }

  const Opened& plugin_;
  SettingsStorage settings_;
  Made<baleen_data_t> made_;
  baleen_dataset_info_t info_{};
  std::vector<std::size_t> row_bytes_;
};

std::string differing_row(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i] != b[i]) return "row " + std::to_string(i);
  return {};
}

std::int64_t some_rows(const Rows& data, std::int64_t wanted) { return std::min(data.most(), wanted); }

void describes_rows(const Subject& subject, Mark& mark) {
  const Opened plugin(subject, mark);
  const Rows data(subject, plugin);
}

/// An older host knows less of the struct.
void honours_the_size_of_info(const Subject& subject, Mark& mark) {
  const Opened plugin(subject, mark);
  const Rows data(subject, plugin);
  constexpr std::size_t kShort = offsetof(baleen_dataset_info_t, unit);
  std::vector<unsigned char> room(sizeof(baleen_dataset_info_t), 0xab);
  const std::uint64_t size = kShort;
  std::memcpy(room.data(), &size, sizeof size);
  plugin.ok("`info`", data.table().info, data.handle(), reinterpret_cast<baleen_dataset_info_t*>(room.data()));
  if (std::any_of(room.begin() + kShort, room.end(), [](unsigned char byte) { return byte != 0xab; }))
    throw Failure("told that the struct has " + std::to_string(kShort) + " bytes, `info` writes behind them");
}

void fills_every_element(const Subject& subject, Mark& mark) {
  const Opened plugin(subject, mark);
  const Rows data(subject, plugin);
  const std::int64_t count = some_rows(data, 64);
  const std::string where =
      differing_row(data.read(BALEEN_TRAIN, 0, count, 0xcd), data.read(BALEEN_TRAIN, 0, count, 0x32));
  if (!where.empty()) throw Failure("`read` leaves a part of " + where + " as it was");
}

void stays_within_arrays(const Subject& subject, Mark& mark) {
  const Opened plugin(subject, mark);
  const Rows data(subject, plugin);
  for (const std::int64_t count : {std::int64_t{1}, std::int64_t{2}, std::int64_t{7}, std::int64_t{64}})
    for (const std::int64_t first : {std::int64_t{0}, std::int64_t{1}, data.rows(BALEEN_TRAIN) - 1})
      data.read(BALEEN_TRAIN, first, some_rows(data, count));
  if (data.rows(BALEEN_HELD_OUT) > 0) data.read(BALEEN_HELD_OUT, 0, some_rows(data, data.rows(BALEEN_HELD_OUT)));
  data.read(BALEEN_TRAIN, 0, 0);
}

void reads_the_same_again(const Subject& subject, Mark& mark) {
  const Opened plugin(subject, mark);
  const Rows first(subject, plugin), second(subject, plugin);
  const std::int64_t count = some_rows(first, std::min<std::int64_t>(kMostRows, 2 * first.rows(BALEEN_TRAIN) + 3));
  const auto rows = first.read(BALEEN_TRAIN, 0, count);
  std::string where = differing_row(rows, first.read(BALEEN_TRAIN, 0, count));
  if (!where.empty()) throw Failure("read again, " + where + " is another one");
  where = differing_row(rows, second.read(BALEEN_TRAIN, 0, count));
  if (!where.empty()) throw Failure("read from a second data set with the same seed, " + where + " is another one");
}

void reads_in_any_pieces(const Subject& subject, Mark& mark) {
  const Opened plugin(subject, mark);
  const Rows data(subject, plugin);
  const std::int64_t count = some_rows(data, std::min<std::int64_t>(kMostRows, 2 * data.rows(BALEEN_TRAIN) + 3));
  const auto whole = data.read(BALEEN_TRAIN, 0, count);
  std::vector<std::string> pieces(whole.size());
  std::vector<std::pair<std::int64_t, std::int64_t>> cuts;
  for (std::int64_t first = 0, size = 1; first < count; first += size, size = size % 7 + 1)
    cuts.emplace_back(first, std::min(size, count - first));
  for (auto cut = cuts.rbegin(); cut != cuts.rend(); ++cut) {  // backwards: nothing may hang on the order
    auto rows = data.read(BALEEN_TRAIN, cut->first, cut->second);
    std::ranges::move(rows, pieces.begin() + static_cast<std::ptrdiff_t>(cut->first));
  }
  const std::string where = differing_row(whole, pieces);
  if (!where.empty()) throw Failure("read in other pieces, " + where + " is another one");
}

std::size_t distinct_rows(const Rows& data, std::int64_t first) {
  const auto rows = data.read(BALEEN_TRAIN, first, data.rows(BALEEN_TRAIN));
  return std::set<std::string>(rows.begin(), rows.end()).size();
}

/// Rows may be alike, and an epoch may cut a text elsewhere; but whoever draws with replacement has fewer distinct ones
/// in one epoch than in another.
void shows_each_row_once(const Subject& subject, Mark& mark) {
  const Opened plugin(subject, mark);
  const Rows data(subject, plugin);
  const std::int64_t count = data.rows(BALEEN_TRAIN);
  if (count > std::min(kMostRows, data.most())) throw Skip("an epoch is too large to be read here; use --set for less");
  const std::size_t first = distinct_rows(data, 0);
  for (const std::int64_t epoch : {1, 2, 3, 1000}) {
    const std::size_t other = distinct_rows(data, epoch * count);
    if (other != first)
      throw Failure("of the " + std::to_string(count) + " rows that `info` counts epoch 0 has " +
                    std::to_string(first) + " distinct ones, and epoch " + std::to_string(epoch) + " has " +
                    std::to_string(other) + ": each epoch has each row once");
  }
}

void holds_out_in_one_order(const Subject& subject, Mark& mark) {
  const Opened plugin(subject, mark);
  const Rows data(subject, plugin), other(subject, plugin, 2);
  if (data.rows(BALEEN_HELD_OUT) == 0) throw Skip("it holds nothing out");
  if (other.rows(BALEEN_HELD_OUT) != data.rows(BALEEN_HELD_OUT))
    throw Failure("another seed holds out another number of rows");
  const std::int64_t count = some_rows(data, std::min(kMostRows, data.rows(BALEEN_HELD_OUT)));
  const auto rows = data.read(BALEEN_HELD_OUT, 0, count);
  const std::string where = differing_row(rows, data.read(BALEEN_HELD_OUT, data.rows(BALEEN_HELD_OUT), count));
  if (!where.empty()) throw Failure("in the second epoch of the held-out part " + where + " is another one");
}

/// Epochs far ahead, where positions have more than 32 bits.
void reads_far_ahead(const Subject& subject, Mark& mark) {
  const Opened plugin(subject, mark);
  const Rows data(subject, plugin);
  const std::int64_t far = (std::int64_t{1} << 40) / data.rows(BALEEN_TRAIN) * data.rows(BALEEN_TRAIN);
  data.read(BALEEN_TRAIN, far, some_rows(data, 16));
  if (data.rows(BALEEN_TRAIN) > std::min(kMostRows, data.most())) return;
  if (distinct_rows(data, 0) != distinct_rows(data, far))
    throw Failure("an epoch beyond position 2^40 has another number of distinct rows than the first one");
}

void reads_from_several_threads(const Subject& subject, Mark& mark) {
  constexpr std::int64_t kThreads = 4;
  const Opened plugin(subject, mark);
  const Rows data(subject, plugin);
  const std::int64_t each = some_rows(data, 128) / 2 + 1;
  const auto expected = data.read(BALEEN_TRAIN, 0, kThreads * each);
  std::vector<std::vector<std::string>> parts(kThreads);
  std::vector<std::string> problems(kThreads);
  {
    std::vector<std::jthread> threads;
    for (std::int64_t t = 0; t < kThreads; ++t)
      threads.emplace_back([&, t] {
        const auto at = static_cast<std::size_t>(t);
        try {
          for (int again = 0; again < 8; ++again) parts[at] = data.read(BALEEN_TRAIN, t * each, each);
        } catch (const std::exception& why) {
          problems[at] = why.what();
        }
      });
  }
  std::vector<std::string> together;
  for (std::size_t t = 0; t < parts.size(); ++t) {
    if (!problems[t].empty()) throw Failure("with four threads: " + problems[t]);
    together.insert(together.end(), parts[t].begin(), parts[t].end());
  }
  const std::string where = differing_row(expected, together);
  if (!where.empty()) throw Failure("read by four threads at once, " + where + " is another one");
}

template <class Extension>
const Extension* extension_of(const Opened& plugin, const Rows& data, const char* name) {
  if (!data.table().query) return nullptr;
  const void* const found = plugin.call("`query`", data.table().query, data.handle(), abi(name));
  const auto* const table = static_cast<const Extension*>(found);
  if (table && table->size < sizeof(Extension)) throw Failure(std::string(name) + ": its table has too small a size");
  return table;
}

void has_one_digest(const Subject& subject, Mark& mark) {
  const Opened plugin(subject, mark);
  const Rows data(subject, plugin), other(subject, plugin, 2);
  const auto* const table = extension_of<baleen_data_digest_t>(plugin, data, BALEEN_DATA_DIGEST);
  if (!table) throw Skip("it has no digest; ranks compare some of its rows");
  std::uint64_t first = 0, second = 0, third = 0;
  plugin.ok("`digest`", table->digest, data.handle(), &first);
  plugin.ok("`digest`", table->digest, data.handle(), &second);
  plugin.ok("`digest`", table->digest, other.handle(), &third);
  if (first != second) throw Failure("the digest of one data set is another one when it is asked for again");
  if (first != third) throw Failure("the digest hangs on the seed; it is one of the content alone");
}

void knows_what_it_has(const Subject& subject, Mark& mark) {
  const Opened plugin(subject, mark);
  const Rows data(subject, plugin);
  if (!data.table().query) throw Skip("it has no extensions");
  if (plugin.call("`query`", data.table().query, data.handle(), abi("no.such.extension/1")))
    throw Failure("`query` gives a table for an extension that nobody knows");
}

}  // namespace

std::vector<Case> data_cases() {
  return {
      {"data.info", "says truly what rows are: names, dtypes, shapes, counts", &describes_rows},
      {"data.info_size", "writes no more of `info` than a host knows", &honours_the_size_of_info},
      {"data.arrays", "writes nothing outside the arrays it is given", &stays_within_arrays},
      {"data.whole_rows", "writes every element of a row", &fills_every_element},
      {"data.repeats", "the same positions are the same rows, also in another data set", &reads_the_same_again},
      {"data.pieces", "rows do not hang on how they are asked for", &reads_in_any_pieces},
      {"data.epochs", "every epoch has each row once", &shows_each_row_once},
      {"data.held_out", "the held-out part keeps its order", &holds_out_in_one_order},
      {"data.far_ahead", "epochs beyond position 2^40 are like others", &reads_far_ahead},
      {"data.threads", "several threads read at once", &reads_from_several_threads},
      {"data.digest", "its digest is the content's", &has_one_digest},
      {"data.query", "has no table for what it does not know", &knows_what_it_has},
  };
}

}  // namespace baleen::validate
