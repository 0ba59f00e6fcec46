/// \file Shares of what several ranks hold alike, and digests.
#include "frontend/checkpoint/owned_part.hpp"

#include <algorithm>
#include <cstring>

#include "baleen/dtype.hpp"
#include "baleen/plugin.hpp"
#include "core/runtime/shards.hpp"

namespace baleen {
namespace {

/// What elements may need, the largest of them.
constexpr std::uint64_t kAlignment = 8;

/// Pieces below this size are not worth to be cut: one rank writes them whole.
constexpr std::int64_t kSmall = 64 << 10;

/// How many ranks hold the same piece, and which of them this one is.
struct Copies {
  std::int64_t count = 1, own = 0;
};
Copies copies_of(const Layout& layout, const Mesh& mesh, const Coordinates& at) {
  Copies copies;
  for (std::size_t axis = 0; axis < mesh.axes.size(); ++axis) {
    if (!layout.empty() && layout[axis].kind != Placement::Kind::replicate) continue;
    copies.count *= mesh.axes[axis].size;
    copies.own = copies.own * mesh.axes[axis].size + at[axis];
  }
  return copies;
}

/// Of a piece of that many elements.
Range share_of(std::int64_t elements, std::int64_t bytes, const Copies& copies, std::int64_t turn) {
  if (copies.count == 1) return {0, elements};
  if (bytes < kSmall) return turn % copies.count == copies.own ? Range{0, elements} : Range{0, 0};
  const std::int64_t each = elements / copies.count, more = elements % copies.count;
  const auto border = [&](std::int64_t i) { return each * i + std::min(i, more); };
  return {border(copies.own), border(copies.own + 1)};
}

std::uint64_t mixed(std::uint64_t bits, std::uint64_t index) {
  std::uint64_t z = bits + index * 0x9E3779B97F4A7C15u;  // splitmix64 (Steele, Lea, Flood 2014)
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

template <class Bits>
std::uint64_t sum_of_run(const std::byte* data, std::int64_t count, std::int64_t index) {
  std::uint64_t sum = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    Bits bits;
    std::memcpy(&bits, data + static_cast<std::size_t>(i) * sizeof bits, sizeof bits);
    sum += mixed(bits, static_cast<std::uint64_t>(index + i) + 1);
  }
  return sum;
}

std::uint64_t sum_of_run(std::size_t element, const std::byte* data, std::int64_t count, std::int64_t index) {
  switch (element) {
    case 1: return sum_of_run<std::uint8_t>(data, count, index);
    case 2: return sum_of_run<std::uint16_t>(data, count, index);
    case 4: return sum_of_run<std::uint32_t>(data, count, index);
    default: return sum_of_run<std::uint64_t>(data, count, index);
  }
}

}  // namespace

std::vector<OwnedPart> owned_parts(const PersistentLayout& persistent, const Mesh& mesh, const Coordinates& at) {
  std::vector<OwnedPart> parts;
  std::int64_t turn = 0;
  for (std::size_t b = 0; b < persistent.buffers.size(); ++b) {
    const PersistentSpec& spec = persistent.buffers[b].spec;
    OwnedPart part{b, piece_of(spec.type.shape, spec.layout, mesh, at), {}};
    const Copies copies = copies_of(spec.layout, mesh, at);
    const std::int64_t elements = part.piece.held ? part.piece.elements() : 0;
    const auto bytes = elements * static_cast<std::int64_t>(dtype_size(spec.type.dtype));
    part.elements = share_of(elements, bytes, copies, turn++);
    // A tensor without elements is named by somebody, so that it is in the checkpoint.
    const bool names_empty = element_count(spec.type.shape) == 0 && copies.own == 0 && part.piece.held;
    if (part.count() > 0 || names_empty) parts.push_back(std::move(part));
  }
  return parts;
}

std::uint64_t aligned(std::uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

std::vector<std::vector<OwnedPart>> grouped(const std::vector<OwnedPart>& parts, const PersistentLayout& persistent,
                                            std::uint64_t most) {
  std::vector<std::vector<OwnedPart>> groups(1);
  most = most == 0 ? 0 : std::max(kAlignment, most / kAlignment * kAlignment);
  std::uint64_t room = most;
  for (OwnedPart part : parts) {
    const std::uint64_t element = dtype_size(persistent.buffers[part.buffer].spec.type.dtype);
    const std::int64_t end = part.elements.end;
    do {
      std::int64_t fits = most == 0 ? part.count() : static_cast<std::int64_t>(room / element);
      const bool is_used = !groups.back().empty() && groups.back().back().buffer == part.buffer;
      if ((fits == 0 && part.count() > 0) || is_used) {
        groups.emplace_back();
        room = most;
        fits = static_cast<std::int64_t>(room / element);
      }
      OwnedPart taken = part;
      taken.elements.end = std::min(end, part.elements.begin + fits);
      room -= std::min(room, aligned(static_cast<std::uint64_t>(taken.count()) * element));
      part.elements.begin = taken.elements.end;
      groups.back().push_back(std::move(taken));
    } while (part.elements.begin < end);
  }
  return groups;
}

ShardOf::ShardOf(const PersistentSpec& spec, const OwnedPart& part, std::byte* data) {
  const Shape& shape = spec.type.shape;
  shard_.size = sizeof shard_;
  shard_.name = abi(spec.name);
  shard_.dtype = spec.type.dtype;
  shard_.rank = static_cast<std::uint32_t>(shape.size());
  for (std::size_t d = 0; d < shape.size(); ++d) {
    shard_.shape[d] = shape[d];
    auto& list = ranges_.emplace_back();
    if (d < part.piece.dims.size())
      for (const Range& run : part.piece.dims[d]) list.push_back({run.begin, run.end});
    // No list would mean all of the dimension; a piece without indices has no elements, whatever else it has.
    if (list.empty()) list.push_back({0, 0});
  }
  for (std::size_t d = 0; d < ranges_.size(); ++d) {
    shard_.ranges[d] = ranges_[d].data();
    shard_.range_count[d] = static_cast<std::uint32_t>(ranges_[d].size());
  }
  const std::int64_t first = part.piece.flat ? part.piece.flat->begin : 0;
  if (part.piece.flat || part.count() != part.piece.elements()) {
    shard_.is_flat = 1;
    shard_.flat = {first + part.elements.begin, first + part.elements.end};
  }
  shard_.bytes = static_cast<std::uint64_t>(part.count()) * dtype_size(spec.type.dtype);
  shard_.data = data;
}

std::uint64_t digest_of(const PersistentSpec& spec, const OwnedPart& part, std::span<const std::byte> data) {
  const std::size_t element = dtype_size(spec.type.dtype);
  std::uint64_t sum = 0;
  for (const PieceRun& run : runs_of(spec.type.shape, part.piece)) {
    const std::int64_t begin = std::max(run.in_piece, part.elements.begin);
    const std::int64_t end = std::min(run.in_piece + run.count, part.elements.end);
    if (begin >= end) continue;
    const auto at = static_cast<std::size_t>(begin - part.elements.begin) * element;
    sum += sum_of_run(element, data.data() + at, end - begin, run.in_whole + begin - run.in_piece);
  }
  return sum;
}

}  // namespace baleen
