/// \file What a data plugin adds that trains and opens tokenizers: the interface "baleen.data.tokenizer/1" (a draft).
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "baleen/data.h"
#include "baleen/plugin.hpp"

namespace baleen::sdk {

/// A tokenizer that was opened. [any thread]
class OpenedTokenizer {
 public:
  virtual ~OpenedTokenizer() = default;
  /// The largest id + 1.
  virtual std::int64_t vocabulary() const = 0;
  /// `framed`: with the ids that it puts around a text.
  virtual Result<std::vector<std::int32_t>> encode(std::string_view text, bool framed) const = 0;
  virtual Result<std::string> decode(std::span<const std::int32_t> ids) const = 0;
  /// As the vocabulary writes it; fails on an id that no token has.
  virtual Result<std::string> token(std::int32_t id) const = 0;
};

/// What is to be trained. Paths are absolute, or relative to `folder`.
struct TokenizerTraining {
  std::string kind;
  std::int64_t vocabulary = 0;
  std::vector<std::string> files;
  std::string out, folder;
  std::vector<std::string> options;  ///< "name=value"
};

// A maker has three static functions:
//   std::string_view kinds();
//   Status train(const Host&, const TokenizerTraining&);
//   Result<std::unique_ptr<OpenedTokenizer>> open(const Host&, std::string_view path);

namespace detail {

/// Copies as much as fits and returns the count needed.
template <class Range, class T>
std::int64_t copy_some(const Range& range, T* out, std::int64_t capacity) {
  const auto size = static_cast<std::int64_t>(range.size());
  std::copy_n(range.data(), static_cast<std::size_t>(std::clamp<std::int64_t>(capacity, 0, size)), out);
  return size;
}

/// Runs `call` (giving a Result of a range) and copies what it gave; -1 where it failed.
template <class T, class Call>
std::int64_t give_some(const Host& host, T* out, std::int64_t capacity, Call&& call) {
  std::int64_t needed = -1;
  const auto status = guard(host, [&]() -> Status {
    BALEEN_TRY_ASSIGN(const auto found, call());
    needed = copy_some(found, out, capacity);
    return {};
  });
  return status == BALEEN_OK ? needed : -1;
}

inline std::vector<std::string> lines_of(baleen_string_t text) {
  std::vector<std::string> lines;
  for (std::string_view rest = view(text); !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    if (end > 0) lines.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return lines;
}

template <class Maker>
baleen_status_t train_tokenizer(const baleen_host_t* host, const baleen_tokenizer_training_t* given) {
  return guard(Host(host), [&]() -> Status {
    const baleen_tokenizer_training_t asked = copy_in(given);
    if (asked.size == 0) return no_size("training");
    TokenizerTraining training{std::string(view(asked.kind)),   asked.vocabulary,
                               lines_of(asked.files),           std::string(view(asked.out)),
                               std::string(view(asked.folder)), lines_of(asked.options)};
    return Maker::train(Host(host), training);
  });
}

/// The tokenizer table of a maker.
template <class Maker>
const baleen_data_tokenizer_t* tokenizer_table() {
  using Self = Instance<OpenedTokenizer>;
  static const baleen_data_tokenizer_t table = {
      sizeof(baleen_data_tokenizer_t),
      [] { return abi(Maker::kinds()); },
      &train_tokenizer<Maker>,
      [](const baleen_host_t* host, baleen_string_t path, void** out) {
        return guard(Host(host), [&]() -> Status {
          BALEEN_TRY_ASSIGN(auto opened, Maker::open(Host(host), view(path)));
          return Self::keep(Host(host), std::move(opened), out);
        });
      },
      &Self::destroy,
      [](void* self) {
        return guard_value(Self::of(self).host, std::int64_t{-1}, [&] { return Self::of(self).member->vocabulary(); });
      },
      [](void* self, baleen_string_t text, std::int32_t framed, std::int32_t* ids, std::int64_t capacity) {
        return give_some(Self::of(self).host, ids, capacity,
                         [&] { return Self::of(self).member->encode(view(text), framed != 0); });
      },
      [](void* self, const std::int32_t* ids, std::int64_t count, char* text, std::int64_t capacity) {
        return give_some(Self::of(self).host, text, capacity, [&] {
          return Self::of(self).member->decode({ids, static_cast<std::size_t>(count)});
        });
      },
      [](void* self, std::int32_t id, char* text, std::int64_t capacity) {
        return give_some(Self::of(self).host, text, capacity, [&] { return Self::of(self).member->token(id); });
      }};
  return &table;
}

}  // namespace detail
}  // namespace baleen::sdk
