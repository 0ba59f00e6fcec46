/// \file Parses and makes the fields of synthetic rows.
#include "made_field.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace baleen::synthetic {

using namespace sdk;

namespace {

constexpr std::string_view kForm =
    "a field is NAME DTYPE [EXTENT x EXTENT ...] [< BOUND], as in \"image f32 3 x 64 x 64\" or \"ids i32 seq=128 < "
    "1000\"";

Error refused(std::string_view text, const std::string& why) {
  return invalid("`fields`: \"" + std::string(text) + "\": " + why + "; " + std::string(kForm));
}

/// Words between spaces; `<` and `x` between others are words too, however they are written.
std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == ' ') {
      ++at;
      continue;
    }
    const std::size_t end = text[at] == '<' ? at + 1 : std::min(text.find_first_of(" <", at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

std::optional<std::int64_t> number_of(std::string_view word) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size() || number < 1) return std::nullopt;
  return number;
}

std::optional<baleen_dtype_t> dtype_of(std::string_view word) {
  constexpr std::pair<std::string_view, baleen_dtype_t> kDtypes[] = {
      {"f32", BALEEN_F32}, {"i32", BALEEN_I32}, {"i64", BALEEN_I64}, {"u8", BALEEN_U8}};
  for (const auto& [name, dtype] : kDtypes)
    if (word == name) return dtype;
  return std::nullopt;
}

bool is_name(std::string_view word) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !word.empty() && is_letter(word[0]) &&
         std::ranges::all_of(word, [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

/// "3 x seq=64 x 64" as dimensions of the field; "" or why not.
std::string take_extents(std::span<const std::string_view> words, MadeField& made) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i % 2 == 1) {
      if (words[i] != "x" || i + 1 == words.size()) return "between extents stands `x`";
      continue;
    }
    const std::size_t equals = words[i].find('=');
    const std::string_view axis = equals == std::string_view::npos ? "" : words[i].substr(0, equals);
    const auto extent = number_of(equals == std::string_view::npos ? words[i] : words[i].substr(equals + 1));
    if (!extent) return "`" + std::string(words[i]) + "` is no extent";
    if (equals != std::string_view::npos && (!is_name(axis) || axis.size() >= sizeof made.field.axes[0]))
      return "`" + std::string(axis) + "` is no name of an axis, of at most 15 letters";
    if (made.field.rank == BALEEN_MAX_RANK) return "it has more than 8 dimensions";
    if (made.count > (std::int64_t{1} << 40) / *extent) return "a row has more than 2^40 elements";
    made.count *= *extent;
    made.field.shape[made.field.rank] = *extent;
    copy_text(made.field.axes[made.field.rank++], axis);
  }
  return "";
}

template <class T, class Make>
void fill(void* out, std::int64_t count, Make&& make) {
  T* element = static_cast<T*>(out);
  for (std::int64_t i = 0; i < count; ++i) element[i] = static_cast<T>(make(static_cast<std::uint64_t>(i)));
}

}  // namespace

Result<MadeField> parse_field(std::string_view text) {
  const std::vector<std::string_view> words = words_of(text);
  if (words.size() < 2) return refused(text, "it needs a name and a dtype");
  MadeField made;
  if (!is_name(words[0]) || words[0].size() >= sizeof made.field.name)
    return refused(text, "`" + std::string(words[0]) + "` is no name, of at most 31 letters, digits and _");
  copy_text(made.field.name, words[0]);
  const auto dtype = dtype_of(words[1]);
  if (!dtype) return refused(text, "`" + std::string(words[1]) + "` is none of f32, i32, i64, u8");
  made.field.dtype = *dtype;
  const auto less = std::ranges::find(words, "<");
  if (const std::string why = take_extents({words.begin() + 2, less}, made); !why.empty()) return refused(text, why);
  const bool is_bounded = less != words.end();
  if (*dtype == BALEEN_F32) {
    if (is_bounded) return refused(text, "f32 has no bound: its numbers have mean 0 and deviation 1");
    return made;
  }
  if (!is_bounded && *dtype == BALEEN_U8) {
    made.bound = 256;
    return made;
  }
  const auto bound = is_bounded && words.end() - less == 2 ? number_of(less[1]) : std::nullopt;
  if (!bound) return refused(text, "whole numbers need one bound, as in `< 1000`");
  const std::int64_t most = *dtype == BALEEN_U8    ? 256
                            : *dtype == BALEEN_I32 ? std::int64_t{std::numeric_limits<std::int32_t>::max()}
                                                   : std::numeric_limits<std::int64_t>::max();
  if (*bound > most)
    return refused(text, "a bound of " + std::string(words[1]) + " is at most " + std::to_string(most));
  made.bound = *bound;
  return made;
}

void MadeField::make(std::uint64_t row_key, std::uint64_t row, void* out) const {
  const auto whole = [&](std::uint64_t i) { return below(bits_at(row_key, row, i), bound); };
  switch (field.dtype) {
    case BALEEN_I32: return fill<std::int32_t>(out, count, whole);
    case BALEEN_I64: return fill<std::int64_t>(out, count, whole);
    case BALEEN_U8: return fill<std::uint8_t>(out, count, whole);
    default: return fill<float>(out, count, [&](std::uint64_t i) { return about_normal(bits_at(row_key, row, i)); });
  }
}

}  // namespace baleen::synthetic
