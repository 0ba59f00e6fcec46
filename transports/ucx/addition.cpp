/// \file Messages that are added while they arrive: what has come is read once, out of the nearest cache.
#include <algorithm>
#include <cstring>

#include "program.hpp"

namespace baleen::ucx {

// In blocks, which are moved to where elements are aligned.
void Program::add_whole(const Node& node, std::uint64_t offset, const std::byte* data, std::uint64_t bytes) const {
  constexpr std::uint64_t kBlock = 8 << 10;
  alignas(64) std::byte block[kBlock];
  for (std::uint32_t i = node.begin; i < node.end; ++i) {
    const Addition& run = additions_[i];
    const std::uint64_t end = std::min(offset + bytes, run.begin + run.bytes);
    for (std::uint64_t at = std::max(offset, run.begin); at < end;) {
      const std::uint64_t size = std::min(kBlock, end - at);
      std::memcpy(block, data + (at - offset), size);
      const std::byte* own = run.own + (at - run.begin);
      const std::byte* const sources[] = {node.own_first ? own : block, node.own_first ? block : own};
      std::byte* const to = run.to + (at - run.begin);
      reduction_(sources, 2, &to, 1, size / width_);
      at += size;
    }
  }
}

void Program::add_fragment(const Node& node, std::uint64_t offset, const std::byte* data, std::uint64_t bytes,
                           std::vector<Range>& odd) const {
  if (offset % width_ == 0 && bytes % width_ == 0) return add_whole(node, offset, data, bytes);
  std::memcpy(node.data + offset, data, bytes);
  odd.push_back({offset, offset + bytes});
}

// A cut through an element makes both of its neighbours odd, so they join to whole elements.
void Program::add_odd(const Node& node, std::vector<Range>& odd) const {
  std::sort(odd.begin(), odd.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
  for (std::size_t i = 0; i < odd.size();) {
    Range joined = odd[i++];
    for (; i < odd.size() && odd[i].begin == joined.end; ++i) joined.end = odd[i].end;
    add_whole(node, joined.begin, node.data + joined.begin, joined.size());
  }
  odd.clear();
}

}  // namespace baleen::ucx
