/// \file Shards of tensors in C++, for checkpoint plugins whose checkpoints many ranks write (a draft, see
/// checkpoint.h).
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "baleen/checkpoint.h"
#include "baleen/plugin.hpp"

namespace baleen::sdk {

/// What a file says about itself: pairs of name and text.
using Facts = std::vector<std::pair<std::string, std::string>>;

/// A tensor of an open file.
struct StoredTensor {
  std::string name;
  baleen_dtype_t dtype = BALEEN_F32;
  std::vector<std::int64_t> shape;  /// at most BALEEN_MAX_RANK extents
  std::uint64_t bytes = 0;
};

/// baleen_shard_t; no list of ranges: all of the dimension. Not checked.
struct Shard {
  std::string name;
  baleen_dtype_t dtype = BALEEN_F32;
  std::vector<std::int64_t> shape;
  std::vector<std::vector<baleen_range_t>> ranges;  ///< a list per dimension
  std::optional<baleen_range_t> flat;
  std::span<std::byte> data;
};

/// Base of an open folder of shards: validated, listing fixed. [one thread]
class ShardReader {
 public:
  virtual ~ShardReader() = default;
  virtual const std::vector<StoredTensor>& tensors() const = 0;
  virtual const Facts& facts() const = 0;
  /// Fills the shard's data.
  virtual Status read(const Shard& shard) = 0;
};

/// Who writes under which name (baleen_checkpoint_shards_t).
struct ShardWriter {
  std::string attempt;
  std::int32_t number = 0, count = 1;
};

namespace detail {

inline Facts facts_of(const baleen_string_t* facts, std::uint64_t count) {
  Facts pairs;
  for (std::uint64_t i = 0; i < count; ++i) pairs.emplace_back(view(facts[2 * i]), view(facts[2 * i + 1]));
  return pairs;
}

inline Result<Shard> shard_of(const baleen_shard_t& given) {
  const baleen_shard_t in = copy_in(&given);
  if (in.size == 0) return no_size("a shard");
  if (in.rank > BALEEN_MAX_RANK)
    return internal("shard `" + std::string(view(in.name)) + "` has more than 8 dimensions");
  Shard shard{std::string(view(in.name)),
              in.dtype,
              {in.shape, in.shape + in.rank},
              {},
              {},
              {static_cast<std::byte*>(in.data), in.bytes}};
  for (std::uint32_t d = 0; d < in.rank; ++d) shard.ranges.emplace_back(in.ranges[d], in.ranges[d] + in.range_count[d]);
  if (in.is_flat) shard.flat = in.flat;
  return shard;
}

/// An open reader and the C view of its list, whose texts point into the reader.
template <class Reader>
struct OpenReader {
  Host host;
  std::unique_ptr<Reader> reader;
  std::vector<baleen_named_tensor_t> tensors;
  std::vector<baleen_string_t> facts;

  OpenReader(Host given_host, std::unique_ptr<Reader> given) : host(given_host), reader(std::move(given)) {
    for (const StoredTensor& stored : reader->tensors()) {
      baleen_named_tensor_t tensor{};
      tensor.name = abi(stored.name);
      tensor.dtype = stored.dtype;
      tensor.rank = static_cast<std::uint32_t>(stored.shape.size());
      for (std::size_t i = 0; i < stored.shape.size(); ++i) tensor.shape[i] = stored.shape[i];
      tensor.bytes = stored.bytes;
      tensors.push_back(tensor);
    }
    for (const auto& [name, text] : reader->facts()) {
      facts.push_back(abi(name));
      facts.push_back(abi(text));
    }
  }
  static baleen_status_t list(void* handle, const baleen_named_tensor_t** tensors, std::uint64_t* count,
                              const baleen_string_t** facts, std::uint64_t* fact_count) {
    const OpenReader& open = *static_cast<OpenReader*>(handle);
    *tensors = open.tensors.data();
    *count = open.tensors.size();
    *facts = open.facts.data();
    *fact_count = open.facts.size() / 2;
    return BALEEN_OK;
  }
};

}  // namespace detail

/// The table of a member that has
///   static Status write_shards(const Host&, std::string_view folder, const ShardWriter&, std::span<const Shard>);
///   static Status commit_shards(const Host&, std::string_view folder, std::string_view attempt, std::int32_t writers,
///                               const Facts&);
///   static Result<std::unique_ptr<ShardReader>> open_shards(const Host&, std::string_view folder);
///   static Status remove_shards(const Host&, std::string_view folder);
///   static Status verify_shards(const Host&, std::string_view folder);
template <class Member>
const baleen_checkpoint_shards_t* checkpoint_shards() {
  using Open = detail::OpenReader<ShardReader>;
  static constexpr baleen_checkpoint_shards_t kTable{
      sizeof(baleen_checkpoint_shards_t),
      [](const baleen_host_t* host, baleen_string_t folder, baleen_string_t attempt, std::int32_t writer,
         std::int32_t writers, const baleen_shard_t* given, std::uint64_t count) {
        return guard(Host(host), [&]() -> Status {
          std::vector<Shard> shards;
          for (std::uint64_t i = 0; i < count; ++i) {
            BALEEN_TRY_ASSIGN(Shard shard, detail::shard_of(element(given, i)));
            shards.push_back(std::move(shard));
          }
          return Member::write_shards(Host(host), view(folder), {std::string(view(attempt)), writer, writers}, shards);
        });
      },
      [](const baleen_host_t* host, baleen_string_t folder, baleen_string_t attempt, std::int32_t writers,
         const baleen_string_t* facts, std::uint64_t fact_count) {
        return guard(Host(host), [&] {
          return Member::commit_shards(Host(host), view(folder), view(attempt), writers,
                                       detail::facts_of(facts, fact_count));
        });
      },
      [](const baleen_host_t* host, baleen_string_t folder, void** reader) {
        return guard(Host(host), [&]() -> Status {
          BALEEN_TRY_ASSIGN(auto opened, Member::open_shards(Host(host), view(folder)));
          *reader = new Open(Host(host), std::move(opened));
          return {};
        });
      },
      &Open::list,
      [](void* reader, const baleen_shard_t* given) {
        Open& open = *static_cast<Open*>(reader);
        return guard(open.host, [&]() -> Status {
          BALEEN_TRY_ASSIGN(const Shard shard, detail::shard_of(*given));
          return open.reader->read(shard);
        });
      },
      [](void* reader) {
        const Host host = static_cast<Open*>(reader)->host;
        guard_nothing(host, "close", [&] { delete static_cast<Open*>(reader); });
      },
      [](const baleen_host_t* host, baleen_string_t folder) {
        return guard(Host(host), [&] { return Member::remove_shards(Host(host), view(folder)); });
      },
      [](const baleen_host_t* host, baleen_string_t folder) {
        return guard(Host(host), [&] { return Member::verify_shards(Host(host), view(folder)); });
      }};
  return &kTable;
}

}  // namespace baleen::sdk
