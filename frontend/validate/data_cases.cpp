/// \file What every data plugin must do: rows are a pure function of seed and position.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "baleen/settings.hpp"
#include "frontend/validate/cases.hpp"
#include "frontend/validate/data_rows.hpp"

namespace baleen::validate {
namespace {

std::string differing_row(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i] != b[i]) return "row " + std::to_string(i);
  return {};
}

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
  const std::int64_t count = data.at_most(64);
  for (const baleen_split_t split : data.splits()) {
    const std::string where = differing_row(data.read(split, 0, count, 0xcd), data.read(split, 0, count, 0x32));
    if (!where.empty())
      throw Failure("`read` leaves a part of " + where + " as it was, in the " + split_name(split) + " part");
  }
}

void stays_within_arrays(const Subject& subject, Mark& mark) {
  const Opened plugin(subject, mark);
  const Rows data(subject, plugin);
  for (const baleen_split_t split : data.splits()) {
    for (const std::int64_t count : {std::int64_t{1}, std::int64_t{2}, std::int64_t{7}, std::int64_t{64}})
      for (const std::int64_t first : {std::int64_t{0}, std::int64_t{1}, data.rows(split) - 1})
        data.read(split, first, data.at_most(count));
    data.read(split, 0, data.at_most(std::min(Rows::kMostRows, data.rows(split))));
    data.read(split, 0, 0);
  }
}

void reads_the_same_again(const Subject& subject, Mark& mark) {
  const Opened plugin(subject, mark);
  const Rows first(subject, plugin), second(subject, plugin);
  for (const baleen_split_t split : first.splits()) {
    const std::int64_t count = first.some_epochs(split);
    const std::string part = " of the " + split_name(split) + " part is another one";
    const auto rows = first.read(split, 0, count);
    std::string where = differing_row(rows, first.read(split, 0, count));
    if (!where.empty()) throw Failure("read again, " + where + part);
    where = differing_row(rows, second.read(split, 0, count));
    if (!where.empty()) throw Failure("read from a second data set with the same seed, " + where + part);
  }
}

void reads_split_in_any_pieces(const Rows& data, baleen_split_t split) {
  const std::int64_t count = data.some_epochs(split);
  const auto whole = data.read(split, 0, count);
  std::vector<std::string> pieces(whole.size());
  std::vector<std::pair<std::int64_t, std::int64_t>> cuts;
  for (std::int64_t first = 0, size = 1; first < count; first += size, size = size % 7 + 1)
    cuts.emplace_back(first, std::min(size, count - first));
  for (auto cut = cuts.rbegin(); cut != cuts.rend(); ++cut) {  // backwards: nothing may hang on the order
    auto rows = data.read(split, cut->first, cut->second);
    std::ranges::move(rows, pieces.begin() + static_cast<std::ptrdiff_t>(cut->first));
  }
  const std::string where = differing_row(whole, pieces);
  if (!where.empty())
    throw Failure("read in other pieces, " + where + " of the " + split_name(split) + " part is another one");
}

void reads_in_any_pieces(const Subject& subject, Mark& mark) {
  const Opened plugin(subject, mark);
  const Rows data(subject, plugin);
  for (const baleen_split_t split : data.splits()) reads_split_in_any_pieces(data, split);
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
  if (count > std::min(Rows::kMostRows, data.most()))
    throw Skip("an epoch is too large to be read here; use --set for less");
  const std::size_t first = distinct_rows(data, 0);
  for (const std::int64_t epoch : {1, 2, 3, 1000}) {
    const std::size_t other = distinct_rows(data, epoch * count);
    if (other != first)
      throw Failure("of the " + std::to_string(count) + " rows that `info` counts epoch 0 has " +
                    std::to_string(first) + " distinct ones, and epoch " + std::to_string(epoch) + " has " +
                    std::to_string(other) + ": each epoch has each row once");
  }
}

/// Whether a train part in the order of its source is what the user asked for.
bool is_to_keep_its_order(const Subject& subject) {
  const Option* const option = subject.descriptor.find("shuffle");
  if (!option || option->type != BALEEN_OPTION_BOOL) return false;
  const SettingsStorage settings = settings_of(subject);
  return !Settings(settings.get()).boolean("shuffle");
}

/// The same rows in the same order are no new permutation. Few rows may come in one order by chance, and equal ones
/// always do.
void orders_each_epoch_anew(const Subject& subject, Mark& mark) {
  constexpr std::int64_t kEpochs = 4;
  constexpr std::size_t kFewest = 8;
  const Opened plugin(subject, mark);
  const Rows data(subject, plugin), other(subject, plugin, 2);
  if (is_to_keep_its_order(subject)) throw Skip("its option `shuffle` is false");
  const std::int64_t rows = data.rows(BALEEN_TRAIN), count = data.at_most(std::min(Rows::kMostRows, rows));
  const auto first = data.read(BALEEN_TRAIN, 0, count);
  if (std::set<std::string>(first.begin(), first.end()).size() < kFewest)
    throw Skip("an epoch has fewer than 8 distinct rows; use --set for more");
  bool is_one_order = true, is_one_seed = true;
  for (std::int64_t epoch = 0; epoch < kEpochs; ++epoch) {
    const auto here = data.read(BALEEN_TRAIN, epoch * rows, count);
    is_one_order = is_one_order && here == first;
    is_one_seed =
        is_one_seed && other.rows(BALEEN_TRAIN) == rows && other.read(BALEEN_TRAIN, epoch * rows, count) == here;
  }
  if (is_one_order)
    throw Failure("the first four epochs of the train part have one order; each epoch is a new permutation");
  if (is_one_seed)
    throw Failure("with seeds 1 and 2 the train part has one order; it is a function of the seed and the epoch");
}

void holds_out_in_one_order(const Subject& subject, Mark& mark) {
  const Opened plugin(subject, mark);
  const Rows data(subject, plugin), other(subject, plugin, 2);
  const std::int64_t all = data.rows(BALEEN_HELD_OUT);
  if (all == 0) throw Skip("it holds nothing out");
  if (other.rows(BALEEN_HELD_OUT) != all) throw Failure("another seed holds out another number of rows");
  const std::int64_t count = data.at_most(std::min(Rows::kMostRows, all));
  auto rows = data.read(BALEEN_HELD_OUT, 0, count);
  const std::string where = differing_row(rows, data.read(BALEEN_HELD_OUT, all, count));
  if (!where.empty()) throw Failure("in the second epoch of the held-out part " + where + " is another one");
  auto of_other = other.read(BALEEN_HELD_OUT, 0, count);
  if (count < all || rows == of_other) return;
  std::ranges::sort(rows);
  std::ranges::sort(of_other);
  if (rows == of_other) throw Failure("the order of the held-out part hangs on the seed; it keeps one order");
}

/// Epochs far ahead, where positions have more than 32 bits.
void reads_far_ahead(const Subject& subject, Mark& mark) {
  const Opened plugin(subject, mark);
  const Rows data(subject, plugin);
  const std::int64_t far = (std::int64_t{1} << 40) / data.rows(BALEEN_TRAIN) * data.rows(BALEEN_TRAIN);
  data.read(BALEEN_TRAIN, far, data.at_most(16));
  if (data.rows(BALEEN_TRAIN) > std::min(Rows::kMostRows, data.most())) return;
  if (distinct_rows(data, 0) != distinct_rows(data, far))
    throw Failure("an epoch beyond position 2^40 has another number of distinct rows than the first one");
}

void reads_split_from_several_threads(const Rows& data, baleen_split_t split) {
  constexpr std::int64_t kThreads = 4;
  const std::int64_t each = data.at_most(128) / 2 + 1;
  const auto expected = data.read(split, 0, kThreads * each);
  std::vector<std::vector<std::string>> parts(kThreads);
  std::vector<std::string> problems(kThreads);
  {
    std::vector<std::jthread> threads;
    for (std::int64_t t = 0; t < kThreads; ++t)
      threads.emplace_back([&, t] {
        const auto at = static_cast<std::size_t>(t);
        try {
          for (int again = 0; again < 8; ++again) parts[at] = data.read(split, t * each, each);
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
  if (!where.empty())
    throw Failure("read by four threads at once, " + where + " of the " + split_name(split) + " part is another one");
}

void reads_from_several_threads(const Subject& subject, Mark& mark) {
  const Opened plugin(subject, mark);
  const Rows data(subject, plugin);
  for (const baleen_split_t split : data.splits()) reads_split_from_several_threads(data, split);
}

}  // namespace

std::vector<Case> data_cases() {
  std::vector<Case> all = {
      {"data.info", "says truly what rows are: names, dtypes, shapes, counts", &describes_rows},
      {"data.info_size", "writes no more of `info` than a host knows", &honours_the_size_of_info},
      {"data.arrays", "writes nothing outside the arrays it is given", &stays_within_arrays},
      {"data.whole_rows", "writes every element of a row", &fills_every_element},
      {"data.repeats", "the same positions are the same rows, also in another data set", &reads_the_same_again},
      {"data.pieces", "rows do not hang on how they are asked for", &reads_in_any_pieces},
      {"data.epochs", "every epoch has each row once", &shows_each_row_once},
      {"data.orders", "each epoch and each seed has an order of its own", &orders_each_epoch_anew},
      {"data.held_out", "the held-out part keeps its order, whatever the seed", &holds_out_in_one_order},
      {"data.far_ahead", "epochs beyond position 2^40 are like others", &reads_far_ahead},
      {"data.threads", "several threads read at once", &reads_from_several_threads},
  };
  for (Case& one : data_content_cases()) all.push_back(std::move(one));
  return all;
}

}  // namespace baleen::validate
