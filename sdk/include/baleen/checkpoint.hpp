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

namespace detail {

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

/// The C table of a member that has
///   static Status write(const Host&, std::string_view path, std::span<const baleen_named_tensor_t>, const Facts&);
///   static Result<std::unique_ptr<CheckpointReader>> open(const Host&, std::string_view path);
/// Optional: shards (checkpoint_shards.hpp).
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
  if constexpr (requires { &Member::write_shards; })
    table.query = [](baleen_string_t name) -> const void* {
      return view(name) == BALEEN_CHECKPOINT_SHARDS ? checkpoint_shards<Member>() : nullptr;
    };
  return table;
}

}  // namespace baleen::sdk

/// Exports `Member` as this plugin. Once, at global scope, behind BALEEN_DESCRIPTOR.
#define BALEEN_CHECKPOINT(Member) BALEEN_EXPORT_TABLE(baleen::sdk::checkpoint_table<Member>())
