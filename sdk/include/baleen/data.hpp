/// \file A dataset as a C++ class: derive from Dataset (and Tokens, if it is text; Ragged, if it has lists; Digested,
/// if it can hash its content; Learned of data_learned.hpp, if it learns from its rows), then `BALEEN_DATA(Mine)`. A
/// plugin that makes tokenizers names its maker `Mine::Tokenizers` (data_tokenizer.hpp).
#pragma once
#include <algorithm>
#include <initializer_list>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "baleen/data.h"
#include "baleen/data_learned.hpp"
#include "baleen/data_tokenizer.hpp"
#include "baleen/plugin.hpp"

namespace baleen::sdk {

/// Base of a member. A member also has `static Result<std::unique_ptr<Member>> create(const Host&, const Settings&)`,
/// which opens and checks everything.
class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual Result<baleen_dataset_info_t> info() const = 0;
  /// Rows `first` ... `first + count - 1` of a split's endless stream into buffers[field]. [any thread]
  virtual Status read(baleen_split_t split, std::int64_t first, std::int64_t count, void* const* buffers) const = 0;
};

/// What a dataset of text adds: the interface "baleen.data.tokens/1". [any thread]
class Tokens {
 public:
  virtual ~Tokens() = default;
  virtual Result<std::vector<std::int32_t>> encode(std::string_view text) const = 0;
  virtual Result<std::string> decode(std::span<const std::int32_t> ids) const = 0;
};

/// What a dataset with lists of unequal length adds: the interface "baleen.data.ragged/1". [any thread]
class Ragged {
 public:
  virtual ~Ragged() = default;
  /// The number of the field with the lengths of this one; -1 if it is not ragged.
  virtual std::int32_t length_field(std::uint32_t field) const = 0;
};

/// What a dataset adds that can say what it holds: the interface "baleen.data.digest/1".
class Digested {
 public:
  virtual ~Digested() = default;
  /// A hash of the content, wherever it lies. Reads a second's worth at most.
  virtual std::uint64_t digest() const = 0;
};

/// Copies a text into a fixed array of the ABI; cuts what does not fit at a character's boundary.
template <std::size_t N>
void copy_text(char (&out)[N], std::string_view text) {
  std::size_t size = std::min(text.size(), N - 1);
  while (size < text.size() && size > 0 && (static_cast<unsigned char>(text[size]) & 0xc0) == 0x80) --size;
  std::fill(std::copy_n(text.data(), size, out), out + N, '\0');
}

/// A field of every row: extents without the batch, and the logical axis of each ("" for none).
inline baleen_field_t make_field(std::string_view name, baleen_dtype_t dtype, std::initializer_list<std::int64_t> shape,
                                 std::initializer_list<std::string_view> axes) {
  if (shape.size() != axes.size() || shape.size() >= BALEEN_MAX_RANK)  // the batch is a dimension, too
    throw std::invalid_argument("field `" + std::string(name) + "`: one axis per dimension, at most 7");
  baleen_field_t field{};
  copy_text(field.name, name);
  field.dtype = dtype;
  field.rank = static_cast<std::uint32_t>(shape.size());
  std::copy(shape.begin(), shape.end(), field.shape);
  for (std::size_t i = 0; i < axes.size(); ++i) copy_text(field.axes[i], axes.begin()[i]);
  return field;
}

namespace detail {

/// The tokens table of a member that derives from Tokens.
inline const baleen_data_tokens_t* tokens_table() {
  using Self = Instance<Dataset>;
  static const baleen_data_tokens_t table = {
      sizeof(baleen_data_tokens_t),
      [](void* self, baleen_string_t text, std::int32_t* ids, std::int64_t capacity) -> std::int64_t {
        std::int64_t needed = -1;
        const auto status = guard(Self::of(self).host, [&]() -> Status {
          BALEEN_TRY_ASSIGN(auto found, dynamic_cast<Tokens&>(*Self::of(self).member).encode(view(text)));
          needed = copy_some(found, ids, capacity);
          return {};
        });
        return status == BALEEN_OK ? needed : -1;
      },
      [](void* self, const std::int32_t* ids, std::int64_t count, char* text, std::int64_t capacity) -> std::int64_t {
        std::int64_t needed = -1;
        const auto status = guard(Self::of(self).host, [&]() -> Status {
          const std::span<const std::int32_t> given(ids, static_cast<std::size_t>(count));
          BALEEN_TRY_ASSIGN(auto found, dynamic_cast<Tokens&>(*Self::of(self).member).decode(given));
          needed = copy_some(found, text, capacity);
          return {};
        });
        return status == BALEEN_OK ? needed : -1;
      }};
  return &table;
}

/// The ragged table of a member that derives from Ragged.
inline const baleen_data_ragged_t* ragged_table() {
  using Self = Instance<Dataset>;
  static const baleen_data_ragged_t table = {
      sizeof(baleen_data_ragged_t), [](void* self, std::uint32_t field) -> std::int32_t {
        return guard_value(Self::of(self).host, std::int32_t{-1},
                           [&] { return dynamic_cast<const Ragged&>(*Self::of(self).member).length_field(field); });
      }};
  return &table;
}

/// The digest table of a member that derives from Digested.
inline const baleen_data_digest_t* digest_table() {
  using Self = Instance<Dataset>;
  static const baleen_data_digest_t table = {sizeof(baleen_data_digest_t), [](void* self, std::uint64_t* out) {
                                               return guard(Self::of(self).host, [&]() -> Status {
                                                 *out = dynamic_cast<const Digested&>(*Self::of(self).member).digest();
                                                 return {};
                                               });
                                             }};
  return &table;
}

inline Status read_rows(const Dataset& dataset, baleen_split_t split, std::int64_t first, std::int64_t count,
                        void* const* buffers) {
  if (split != BALEEN_TRAIN && split != BALEEN_HELD_OUT) return internal("no split " + std::to_string(split));
  if (first < 0 || count < 0)
    return internal("cannot read " + std::to_string(count) + " rows from position " + std::to_string(first));
  if (count == 0) return {};
  return dataset.read(split, first, count, buffers);
}

}  // namespace detail

/// The C table of a member.
template <class Member>
baleen_data_t data_table() {
  using Self = Instance<Dataset>;
  baleen_data_t table{};
  table.create = &create_instance<Dataset, Member>;
  table.destroy = &Self::destroy;
  table.info = [](void* self, baleen_dataset_info_t* out) {
    return guard(Self::of(self).host, [&]() -> Status {
      BALEEN_TRY_ASSIGN(auto info, Self::of(self).member->info());
      return copy_out(out, info) ? Status() : no_size("info");
    });
  };
  table.read = [](void* self, baleen_split_t split, std::int64_t first, std::int64_t count, void* const* buffers) {
    return guard(Self::of(self).host,
                 [&] { return detail::read_rows(*Self::of(self).member, split, first, count, buffers); });
  };
  table.query = [](void* self, baleen_string_t name) -> const void* {
    if (!self) {
      if constexpr (requires { typename Member::Tokenizers; }) {
        if (view(name) == BALEEN_DATA_TOKENIZER) return detail::tokenizer_table<typename Member::Tokenizers>();
      }
      if constexpr (std::is_base_of_v<Learned, Member>) {
        if (view(name) == BALEEN_DATA_LEARNED) return detail::learned_table<Dataset, Member>();
      }
      return nullptr;
    }
    if constexpr (std::is_base_of_v<Tokens, Member>) {
      if (view(name) == BALEEN_DATA_TOKENS) return detail::tokens_table();
    }
    if constexpr (std::is_base_of_v<Ragged, Member>) {
      if (view(name) == BALEEN_DATA_RAGGED) return detail::ragged_table();
    }
    if constexpr (std::is_base_of_v<Digested, Member>) {
      if (view(name) == BALEEN_DATA_DIGEST) return detail::digest_table();
    }
    if constexpr (std::is_base_of_v<Learned, Member>) {
      if (view(name) == BALEEN_DATA_LEARNED) return detail::learned_table<Dataset, Member>();
    }
    (void)name;
    return nullptr;
  };
  return table;
}

}  // namespace baleen::sdk

/// Exports `Member` (a baleen::sdk::Dataset) as this plugin. Once, at global scope, behind BALEEN_DESCRIPTOR.
#define BALEEN_DATA(Member) BALEEN_EXPORT_TABLE(baleen::sdk::data_table<Member>())
