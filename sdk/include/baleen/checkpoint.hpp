/// \file A checkpoint format as a C++ class: static `write` and `open`, then `BALEEN_CHECKPOINT(Mine)`.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "baleen/checkpoint_shards.hpp"

namespace baleen::sdk {

/// Base of an open file: validated, listing fixed. [one thread]
class CheckpointReader {
 public:
  virtual ~CheckpointReader() = default;
  virtual const std::vector<StoredTensor>& tensors() const = 0;
  virtual const Facts& facts() const = 0;
  /// Fills `out`, whose size is the tensor's.
  virtual Status read(std::size_t number, std::span<std::byte> out) const = 0;
};

/// Base of a file that is written from pieces of its tensors (baleen_checkpoint_pieces_t); destroyed, what was not
/// committed is gone. [one thread]
class PieceWriter {
 public:
  virtual ~PieceWriter() = default;
  /// The next bytes of tensor `number` of the list.
  virtual Status append(std::size_t number, std::span<const std::byte> bytes) = 0;
  /// Once, at the end.
  virtual Status commit() = 0;
};

namespace detail {

template <class Member>
concept TakesPieces = requires(const Host& host, std::string_view path, std::span<const baleen_named_tensor_t> tensors,
                               const Facts& facts) {
  Member::begin(host, path, tensors, facts);
};

struct OpenPieces {
  Host host;
  std::unique_ptr<PieceWriter> writer;
  std::vector<std::uint64_t> left;  ///< bytes of each tensor
  bool is_committed = false;

  static OpenPieces& of(void* handle) { return *static_cast<OpenPieces*>(handle); }

  Status append(std::uint64_t number, const void* data, std::uint64_t bytes) {
    if (number >= left.size() || is_committed) return internal("no tensor number " + std::to_string(number));
    if (bytes > left[number])
      return internal("tensor number " + std::to_string(number) + " has " + std::to_string(left[number]) +
                      " bytes left, and gets " + std::to_string(bytes));
    BALEEN_TRY(writer->append(number, {static_cast<const std::byte*>(data), bytes}));
    left[number] -= bytes;
    return {};
  }
  Status commit() {
    for (std::size_t number = 0; number < left.size(); ++number)
      if (left[number] > 0)
        return internal("tensor number " + std::to_string(number) + " lacks " + std::to_string(left[number]) +
                        " bytes");
    if (std::exchange(is_committed, true)) return internal("committed twice");
    return writer->commit();
  }
};

struct OpenCheckpoint : OpenReader<CheckpointReader> {
  using OpenReader::OpenReader;
  static OpenCheckpoint& of(void* handle) { return *static_cast<OpenCheckpoint*>(handle); }

  Status read(std::uint64_t number, void* data, std::uint64_t bytes) const {
    if (number >= tensors.size()) return internal("no tensor number " + std::to_string(number));
    const StoredTensor& tensor = reader->tensors()[number];
    if (bytes != tensor.bytes)
      return internal("tensor `" + tensor.name + "` has " + std::to_string(tensor.bytes) + " bytes, asked for " +
                      std::to_string(bytes));
    return reader->read(number, {static_cast<std::byte*>(data), bytes});
  }
};

}  // namespace detail

/// The table of a member that has
///   static Result<std::unique_ptr<PieceWriter>> begin(const Host&, std::string_view path,
///                                                     std::span<const baleen_named_tensor_t>, const Facts&);
template <class Member>
const baleen_checkpoint_pieces_t* checkpoint_pieces() {
  using Open = detail::OpenPieces;
  static constexpr baleen_checkpoint_pieces_t kTable{
      sizeof(baleen_checkpoint_pieces_t),
      [](const baleen_host_t* host, baleen_string_t path, const baleen_named_tensor_t* tensors, std::uint64_t count,
         const baleen_string_t* facts, std::uint64_t fact_count, void** writer) {
        return guard(Host(host), [&]() -> Status {
          BALEEN_TRY_ASSIGN(
              auto begun, Member::begin(Host(host), view(path), {tensors, count}, detail::facts_of(facts, fact_count)));
          if (!begun) return internal("begin gave no writer and no error");
          std::vector<std::uint64_t> left;
          for (std::uint64_t i = 0; i < count; ++i) left.push_back(tensors[i].bytes);
          *writer = new Open{Host(host), std::move(begun), std::move(left)};
          return {};
        });
      },
      [](void* writer, std::uint64_t number, const void* data, std::uint64_t bytes) {
        return guard(Open::of(writer).host, [&] { return Open::of(writer).append(number, data, bytes); });
      },
      [](void* writer) { return guard(Open::of(writer).host, [&] { return Open::of(writer).commit(); }); },
      [](void* writer) {
        const Host host = Open::of(writer).host;
        guard_nothing(host, "end", [&] { delete static_cast<Open*>(writer); });
      }};
  return &kTable;
}

/// The C table of a member that has
///   static Status write(const Host&, std::string_view path, std::span<const baleen_named_tensor_t>, const Facts&);
///   static Result<std::unique_ptr<CheckpointReader>> open(const Host&, std::string_view path);
/// Optional: `begin` (above); shards (checkpoint_shards.hpp).
template <class Member>
baleen_checkpoint_t checkpoint_table() {
  using Open = detail::OpenCheckpoint;
  baleen_checkpoint_t table{};
  table.write = [](const baleen_host_t* host, baleen_string_t path, const baleen_named_tensor_t* tensors,
                   std::uint64_t count, const baleen_string_t* facts, std::uint64_t fact_count) {
    return guard(Host(host), [&] {
      return Member::write(Host(host), view(path), {tensors, count}, detail::facts_of(facts, fact_count));
    });
  };
  table.open = [](const baleen_host_t* host, baleen_string_t path, void** reader) {
    return guard(Host(host), [&]() -> Status {
      BALEEN_TRY_ASSIGN(auto opened, Member::open(Host(host), view(path)));
      if (!opened) return internal("open gave no reader and no error");
      *reader = new Open(Host(host), std::move(opened));
      return {};
    });
  };
  table.list = &Open::list;
  table.read = [](void* reader, std::uint64_t number, void* data, std::uint64_t bytes) {
    return guard(Open::of(reader).host, [&] { return Open::of(reader).read(number, data, bytes); });
  };
  table.close = [](void* reader) {
    const Host host = Open::of(reader).host;
    guard_nothing(host, "close", [&] { delete static_cast<Open*>(reader); });
  };
  constexpr bool has_shards = requires { &Member::write_shards; };
  constexpr bool has_pieces = detail::TakesPieces<Member>;
  if constexpr (has_shards || has_pieces)
    table.query = [](baleen_string_t name) -> const void* {
      if constexpr (has_shards)
        if (view(name) == BALEEN_CHECKPOINT_SHARDS) return checkpoint_shards<Member>();
      if constexpr (has_pieces)
        if (view(name) == BALEEN_CHECKPOINT_PIECES) return checkpoint_pieces<Member>();
      return nullptr;
    };
  return table;
}

}  // namespace baleen::sdk

/// Exports `Member` as this plugin. Once, at global scope, behind BALEEN_DESCRIPTOR.
#define BALEEN_CHECKPOINT(Member) BALEEN_EXPORT_TABLE(baleen::sdk::checkpoint_table<Member>())
