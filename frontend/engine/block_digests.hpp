/// \file Digests of a stored tensor's memory, block by block.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "baleen/result.hpp"
#include "compiler/codegen/executable.hpp"

namespace baleen::app {

/// The tensor's buffer and memory are borrowed.
struct BlockDigests {
  /// Elements of a block; how exactly damage is placed. Kernels that tell of their blocks have the same
  /// (baleen_blockwise_t), or tell in vain.
  static constexpr std::uint64_t kBlock = 16 << 10;

  const PersistentBuffer* buffer;
  const std::byte* memory;
  std::uint64_t element;                    ///< bytes of it
  std::vector<std::uint64_t> digests = {};  ///< of each block
  bool is_known = false;                    ///< nothing has touched it since

  /// Its place in what holds it: the arena, or a slot.
  std::uint64_t first() const { return buffer->is_offloaded() ? 0 : buffer->offset; }
  std::uint64_t block() const { return kBlock * element; }  ///< bytes
  bool is_parameter() const { return buffer->spec.role == Role::parameter; }
  /// Of the block that begins at this byte, as it is now.
  std::uint64_t digest(std::uint64_t from) const;
  /// Takes one, or all, as they are now.
  void renew(std::uint64_t from) { digests[from / block()] = digest(from); }
  void renew();
  bool is_as_before(std::uint64_t from) const { return digest(from) == digests[from / block()]; }
  /// The first byte of the first block that is not what it was.
  std::optional<std::uint64_t> changed_block() const;
  /// DAMAGED; `when`: "in step 5".
  Error damage(std::uint64_t from, const std::string& when) const;
};

}  // namespace baleen::app
