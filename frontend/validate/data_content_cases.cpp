/// \file What rows hold, and what a data plugin offers beside them: extensions of the data set and of the plugin.
#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "baleen/data_learned.h"
#include "baleen/host.hpp"
#include "baleen/sized.hpp"
#include "frontend/validate/cases.hpp"
#include "frontend/validate/data_rows.hpp"

namespace baleen::validate {
namespace {

/// In fields of ids one number below 0 may stand for what losses are to leave out.
bool are_ids_below(const std::vector<std::int64_t>& ids, std::int64_t classes) {
  std::set<std::int64_t> negative;
  for (const std::int64_t id : ids)
    if (id < 0) negative.insert(id);
  return negative.size() <= 1 && std::ranges::all_of(ids, [&](std::int64_t id) { return id < classes; });
}

std::vector<std::int64_t> integers_of(const baleen_field_t& field, const FieldBytes& bytes) {
  if (field.dtype == BALEEN_I64) return elements_of<std::int64_t>(bytes);
  if (field.dtype == BALEEN_U8) return {bytes.begin(), bytes.end()};
  const auto numbers = elements_of<std::int32_t>(bytes);
  return {numbers.begin(), numbers.end()};
}

/// Which fields are ids is known of some names alone; of others one at least must be.
void check_ids(const Rows& data, const std::vector<FieldBytes>& fields, const std::string& part) {
  const std::int64_t classes = data.info().classes;
  bool has_integers = false, has_ids = false;
  for (std::size_t f = 0; f < fields.size(); ++f) {
    const baleen_field_t& field = data.info().fields[f];
    if (field.dtype == BALEEN_F32) continue;
    has_integers = true;
    const std::string name = field.name;
    const bool fits = are_ids_below(integers_of(field, fields[f]), classes);
    has_ids = has_ids || fits;
    if (!fits && (name == "tokens" || name == "targets" || name == "label"))
      throw Failure("field `" + name + "` has ids outside 0 ... " + std::to_string(classes - 1) + " in the " + part +
                    " part; `info` says that there are " + std::to_string(classes) + " classes");
  }
  if (has_integers && !has_ids)
    throw Failure("`info` says that there are " + std::to_string(classes) +
                  " classes, and no field has ids below that alone in the " + part + " part");
}

void has_values_of_use(const Subject& subject, Mark& mark) {
  const Opened plugin(subject, mark);
  const Rows data(subject, plugin);
  for (const baleen_split_t split : data.splits()) {
    const std::int64_t count = data.at_most(std::min(Rows::kMostRows, data.rows(split)));
    const std::vector<FieldBytes> fields = data.read_fields(split, 0, count);
    for (std::size_t f = 0; f < fields.size(); ++f) {
      if (data.info().fields[f].dtype != BALEEN_F32) continue;
      const auto numbers = elements_of<float>(fields[f]);
      const auto bad = std::ranges::find_if(numbers, [](float number) { return !std::isfinite(number); });
      if (bad != numbers.end())
        throw Failure("field `" + std::string(data.info().fields[f].name) + "` is " + std::to_string(*bad) +
                      " in row " +
                      std::to_string((bad - numbers.begin()) * static_cast<std::ptrdiff_t>(sizeof(float)) /
                                     static_cast<std::ptrdiff_t>(data.row_bytes(f))) +
                      " of the " + split_name(split) + " part; nothing can be learnt from it");
    }
    if (data.info().classes > 0) check_ids(data, fields, split_name(split));
  }
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

/// Plugins of earlier revisions were never asked without a data set.
void is_asked_without_a_data_set(const Subject& subject, Mark& mark) {
  constexpr int kSinceRevision = 3;
  if (subject.descriptor.kind_revision < kSinceRevision) throw Skip("the plugin is asked since revision 3 of its kind");
  const Opened plugin(subject, mark);
  const auto& table = plugin.table<baleen_data_t>();
  if (!table.query) throw Skip("it has no extensions");
  void* const nothing = nullptr;
  const auto asked = [&](const char* name) {
    return plugin.call("`query` of `" + std::string(name) + "` without a data set", table.query, nothing, abi(name));
  };
  if (asked("no.such.extension/1"))
    throw Failure("`query` without a data set gives a table for an extension that nobody knows");
  asked(BALEEN_DATA_LEARNED);
  const void* const offered = asked(BALEEN_DATA_TOKENIZER);
  if (!offered) return;
  const auto maker = copy_in(static_cast<const baleen_data_tokenizer_t*>(offered));
  if (!maker.kinds || !maker.train || !maker.open || !maker.close || !maker.vocabulary || !maker.encode ||
      !maker.decode || !maker.token)
    throw Failure("offers " BALEEN_DATA_TOKENIZER " without some of its functions");
  if (view(plugin.call("`kinds`", maker.kinds)).empty()) throw Failure("`kinds` names no kind of tokenizer");
}

/// What `give(out, capacity)` gives into rooms of each size: nothing, one element too little, enough and more than
/// that. It must say the same count each time and write nothing behind. Nothing: it refuses, with a reason.
template <class Element, class Give>
std::optional<std::vector<Element>> given_into_rooms(const Opened& plugin, const std::string& name, const Give& give) {
  constexpr std::int64_t kBehind = 16;
  constexpr Element kFill{0x5a};
  std::vector<Element> whole;
  const auto ask = [&](std::int64_t capacity) {
    std::vector<Element> room(static_cast<std::size_t>(capacity + kBehind), kFill);
    const std::int64_t count = give(room.data(), capacity);
    if (std::any_of(room.begin() + capacity, room.end(), [&](Element one) { return one != kFill; }))
      throw Failure(name + " with room for " + std::to_string(capacity) + " writes behind it");
    room.resize(static_cast<std::size_t>(std::clamp<std::int64_t>(count, 0, capacity)));
    whole = std::move(room);
    return count;
  };
  const std::int64_t needed = ask(0);
  if (needed < 0) {
    plugin.refusal(name, BALEEN_INVALID);
    return std::nullopt;
  }
  for (const std::int64_t capacity : {std::max<std::int64_t>(0, needed - 1), needed + kBehind, needed})
    if (const std::int64_t count = ask(capacity); count != needed)
      throw Failure(name + " says that " + std::to_string(needed) + " are needed, and with room for " +
                    std::to_string(capacity) + " " + std::to_string(count));
  return whole;
}

/// The first field that may hold a text: whole numbers in a row.
const baleen_field_t* field_of_text(const Rows& data, std::size_t& number) {
  for (number = 0; number < data.info().field_count; ++number)
    if (const baleen_field_t& field = data.info().fields[number]; field.dtype == BALEEN_I32 && field.rank > 0)
      return &field;
  return nullptr;
}

void makes_ids_of_text(const Subject& subject, Mark& mark) {
  const Opened plugin(subject, mark);
  const Rows data(subject, plugin);
  const auto* const table = extension_of<baleen_data_tokens_t>(plugin, data, BALEEN_DATA_TOKENS);
  if (!table) throw Skip("it has no text");
  if (!table->encode || !table->decode) throw Failure(BALEEN_DATA_TOKENS " lacks a function");
  const auto decoded = [&](const std::vector<std::int32_t>& ids) {
    return given_into_rooms<char>(plugin, "`decode`", [&](char* text, std::int64_t capacity) {
      return plugin.call("`decode`", table->decode, data.handle(), ids.data(), std::ssize(ids), text, capacity);
    });
  };
  const auto encoded = [&](std::string_view text) {
    return given_into_rooms<std::int32_t>(plugin, "`encode`", [&](std::int32_t* ids, std::int64_t capacity) {
      return plugin.call("`encode`", table->encode, data.handle(), abi(text), ids, capacity);
    });
  };
  std::string text = "a text";
  std::size_t number = 0;
  if (field_of_text(data, number)) {
    const auto ids = elements_of<std::int32_t>(data.read_fields(BALEEN_TRAIN, 0, 1)[number]);
    if (const auto row = decoded(ids)) text.assign(row->begin(), row->end());
  }
  const auto ids = encoded(text);
  if (ids && !ids->empty() && !decoded(*ids)) throw Failure("`decode` refuses the ids that `encode` has made");
  decoded({});
  encoded("");
}

void check_lists(const Rows& data, std::size_t list, std::size_t lengths) {
  const std::string name = "the lists of field `" + std::string(data.info().fields[list].name) + "`";
  const std::int64_t most = data.info().fields[list].shape[0];
  const std::size_t element = data.row_bytes(list) / static_cast<std::size_t>(most);
  for (const baleen_split_t split : data.splits()) {
    const auto fields = data.read_fields(split, 0, data.at_most(std::min(Rows::kMostRows, data.rows(split))));
    const auto counts = elements_of<std::int32_t>(fields[lengths]);
    for (std::size_t row = 0; row < counts.size(); ++row) {
      const std::string where = " in row " + std::to_string(row) + " of the " + split_name(split) + " part";
      if (counts[row] < 0 || counts[row] > most)
        throw Failure(name + " have the length " + std::to_string(counts[row]) + where + "; it is 0 ... " +
                      std::to_string(most));
      const auto begin = fields[list].begin() + static_cast<std::ptrdiff_t>(row * data.row_bytes(list));
      if (std::any_of(begin + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(counts[row]) * element),
                      begin + static_cast<std::ptrdiff_t>(data.row_bytes(list)),
                      [](unsigned char byte) { return byte != 0; }))
        throw Failure(name + " have something else than zeros behind their end" + where);
    }
  }
}

void has_lists(const Subject& subject, Mark& mark) {
  const Opened plugin(subject, mark);
  const Rows data(subject, plugin);
  const auto* const table = extension_of<baleen_data_ragged_t>(plugin, data, BALEEN_DATA_RAGGED);
  if (!table) throw Skip("it has no lists of unequal length");
  if (!table->length_field) throw Failure(BALEEN_DATA_RAGGED " lacks its function");
  for (std::uint32_t f = 0; f < data.info().field_count; ++f) {
    const baleen_field_t& field = data.info().fields[f];
    const std::int32_t at = plugin.call("`length_field`", table->length_field, data.handle(), f);
    if (at == -1) continue;
    const std::string name = "`length_field` of field `" + std::string(field.name) + "`";
    if (at < 0 || static_cast<std::uint32_t>(at) >= data.info().field_count)
      throw Failure(name + " is " + std::to_string(at) + "; there are " + std::to_string(data.info().field_count) +
                    " fields, and -1 for none");
    const baleen_field_t& lengths = data.info().fields[at];
    if (field.rank == 0) throw Failure(name + ": a field of no dimensions is no list");
    if (lengths.dtype != BALEEN_I32 || lengths.rank != 0)
      throw Failure(name + " names field `" + std::string(lengths.name) + "`; lengths are I32 of no dimensions");
    check_lists(data, f, static_cast<std::size_t>(at));
  }
}

}  // namespace

std::vector<Case> data_content_cases() {
  return {
      {"data.values", "numbers are finite, and ids below the number of classes", &has_values_of_use},
      {"data.digest", "its digest is the content's", &has_one_digest},
      {"data.query", "has no table for what it does not know", &knows_what_it_has},
      {"data.plugin_query", "is asked for extensions without a data set", &is_asked_without_a_data_set},
      {"data.tokens", "makes ids of text and text of ids, within the room that there is", &makes_ids_of_text},
      {"data.ragged", "lists have lengths in a field, and zeros behind", &has_lists},
  };
}

}  // namespace baleen::validate
