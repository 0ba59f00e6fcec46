/// \file Chunks that grow by need and never move.
#include "scratch.hpp"

#include <algorithm>
#include <new>

namespace baleen::ucx {
namespace {

constexpr std::uint64_t kLine = 64, kChunkBytes = 256 << 10;

}  // namespace

void Scratch::Free::operator()(std::byte* memory) const { ::operator delete (memory, std::align_val_t{kLine}); }

std::byte* Scratch::take(std::size_t number, std::uint64_t bytes) {
  Lane& lane = lanes_[number];
  const std::uint64_t size = std::max<std::uint64_t>((bytes + kLine - 1) / kLine * kLine, kLine);
  while (lane.chunk < lane.chunks.size() && lane.chunks[lane.chunk].bytes - lane.used < size) {
    ++lane.chunk;
    lane.used = 0;
  }
  if (lane.chunk == lane.chunks.size()) {
    const std::uint64_t fresh = std::max(size, kChunkBytes);
    lane.chunks.push_back(
        {std::unique_ptr<std::byte, Free>(static_cast<std::byte*>(::operator new (fresh, std::align_val_t{kLine}))),
         fresh});
    lane.used = 0;
  }
  std::byte* taken = lane.chunks[lane.chunk].memory.get() + lane.used;
  lane.used += size;
  return taken;
}

}  // namespace baleen::ucx
