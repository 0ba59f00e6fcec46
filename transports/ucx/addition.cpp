/// \file Messages that are added while they arrive: what has come is read once, out of the nearest cache.
#include <algorithm>
#include <cstring>

#include "program.hpp"

namespace baleen::ucx {

// Where the bytes lie is UCX's to say, at no bound of elements.
void Program::add_whole(const Node& node, std::uint64_t offset, const std::byte* data, std::uint64_t bytes) const {
  for (std::uint32_t i = node.begin; i < node.end; ++i) {
    const Addition& run = additions_[i];
    const std::uint64_t from = std::max(offset, run.begin), end = std::min(offset + bytes, run.begin + run.bytes);
    if (from >= end) continue;
    const std::byte *come = data + (from - offset), *own = run.own + (from - run.begin);
    const std::byte* const sources[] = {node.own_first ? own : come, node.own_first ? come : own};
    std::byte* const to = run.to + (from - run.begin);
    reduction_(sources, 2, &to, 1, (end - from) / width_);
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
