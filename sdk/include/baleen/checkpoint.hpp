/// \file A checkpoint format as a C++ class: static `write` and `open`, then `BALEEN_CHECKPOINT(Mine)`.
#pragma once
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

/// An open reader and the C view of its list, whose texts point into the reader.
struct OpenCheckpoint {
  Host host;
  std::unique_ptr<CheckpointReader> reader;
  std::vector<baleen_named_tensor_t> tensors;
  std::vector<baleen_string_t> facts;

  OpenCheckpoint(Host given_host, std::unique_ptr<CheckpointReader> given)
      : host(given_host), reader(std::move(given)) {
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
template <class Member>
baleen_checkpoint_t checkpoint_table() {
  using Open = detail::OpenCheckpoint;
  baleen_checkpoint_t table{};
  table.write = [](const baleen_host_t* host, baleen_string_t path, const baleen_named_tensor_t* tensors,
                   std::uint64_t count, const baleen_string_t* facts, std::uint64_t fact_count) {
    return guard(Host(host), [&] {
      Facts pairs;
      for (std::uint64_t i = 0; i < fact_count; ++i) pairs.emplace_back(view(facts[2 * i]), view(facts[2 * i + 1]));
      return Member::write(Host(host), view(path), {tensors, count}, pairs);
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
  table.list = [](void* reader, const baleen_named_tensor_t** tensors, std::uint64_t* count,
                  const baleen_string_t** facts, std::uint64_t* fact_count) -> baleen_status_t {
    const Open& open = Open::of(reader);
    *tensors = open.tensors.data();
    *count = open.tensors.size();
    *facts = open.facts.data();
    *fact_count = open.facts.size() / 2;
    return BALEEN_OK;
  };
  table.read = [](void* reader, std::uint64_t number, void* data, std::uint64_t bytes) {
    return guard(Open::of(reader).host, [&] { return Open::of(reader).read(number, data, bytes); });
  };
  table.close = [](void* reader) {
    const Host host = Open::of(reader).host;
    guard_nothing(host, "close", [&] { delete static_cast<Open*>(reader); });
  };
  return table;
}

}  // namespace baleen::sdk

/// Exports `Member` as this plugin. Once, at global scope, behind BALEEN_DESCRIPTOR.
#define BALEEN_CHECKPOINT(Member) BALEEN_EXPORT_TABLE(baleen::sdk::checkpoint_table<Member>())
