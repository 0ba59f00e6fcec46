/// \file Chunks that only grow in number.
#include "scratch.hpp"

#include <algorithm>

namespace baleen::hierarchy {
namespace {

constexpr std::uint64_t kLine = 64, kLeast = 64 << 10;

}  // namespace

std::byte* Scratch::take(std::uint64_t bytes) {
  if (bytes == 0) return nullptr;
  const std::uint64_t size = (bytes + kLine - 1) / kLine * kLine;
  while (chunk_ < chunks_.size() && chunks_[chunk_].bytes - used_ < size) {
    ++chunk_;
    used_ = 0;
  }
  if (chunk_ == chunks_.size()) {
    const std::uint64_t whole = std::max(size, kLeast);
    Result<void*> memory = allocate_(whole);
    if (!memory) {
      if (failure_) failure_ = std::move(memory).error();
      return nullptr;
    }
    chunks_.push_back({static_cast<std::byte*>(*memory), whole});
  }
  used_ += size;
  return chunks_[chunk_].memory + used_ - size;
}

std::vector<void*> Scratch::chunks() const {
  std::vector<void*> all;
  for (const Chunk& chunk : chunks_) all.push_back(chunk.memory);
  return all;
}

}  // namespace baleen::hierarchy
