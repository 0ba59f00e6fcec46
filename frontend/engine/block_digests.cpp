/// \file XXH3 of each block.
#include "frontend/engine/block_digests.hpp"

#include <xxhash.h>
#ifdef BALEEN_XXHASH_DISPATCHES
#include <xxh_x86dispatch.h>
#endif

#include <algorithm>

#include "core/runtime/count.hpp"

namespace baleen::app {

std::uint64_t BlockDigests::digest(std::uint64_t from) const {
  return XXH3_64bits(memory + from, std::min(block(), buffer->bytes - from));
}

void BlockDigests::renew() {
  digests.clear();
  for (std::uint64_t from = 0; from < buffer->bytes; from += block()) digests.push_back(digest(from));
  is_known = true;
}

std::optional<std::uint64_t> BlockDigests::changed_block() const {
  for (std::uint64_t from = 0; from < buffer->bytes; from += block())
    if (!is_as_before(from)) return from;
  return std::nullopt;
}

Error BlockDigests::damage(std::uint64_t from, const std::string& when) const {
  return Error{BALEEN_DAMAGED,
               "`" + buffer->spec.name + "` is no longer what the last update wrote, found " + when + " in bytes " +
                   std::to_string(from) + " to " + std::to_string(std::min(from + block(), buffer->bytes) - 1) +
                   " of this rank's piece" + kLostBit,
               {}};
}

}  // namespace baleen::app
