/// \file Reductions as trees, and copies.
#include "execute.hpp"

#include <cstring>
#include <type_traits>

#include "baleen/half.hpp"

namespace baleen::loopback {
namespace {

using Members = std::vector<const Collective*>;

const std::byte* input(const Members& members, std::size_t r, std::size_t entry) {
  return static_cast<const std::byte*>(members[r]->entries[entry].input);
}
std::byte* output(const Members& members, std::size_t r, std::size_t entry) {
  return static_cast<std::byte*>(members[r]->entries[entry].output);
}

// How an element is stored, and computed with.
template <class T>
struct Plain {
  using Stored = T;
  using Computed = T;
  static T load(T x) { return x; }
  static T store(T x) { return x; }
};
struct Bf16 {
  using Stored = std::uint16_t;
  using Computed = float;
  static float load(std::uint16_t x) { return from_bf16(x); }
  static std::uint16_t store(float x) { return to_bf16(x); }
};
struct Fp16 {
  using Stored = std::uint16_t;
  using Computed = float;
  static float load(std::uint16_t x) { return from_fp16(x); }
  static std::uint16_t store(float x) { return to_fp16(x); }
};

template <class T>
T combine(T a, T b, baleen_reduction_t reduction) {
  if (reduction == BALEEN_MAXIMUM) return a > b || a != a ? a : b;
  if constexpr (std::is_integral_v<T>) {
    using Unsigned = std::make_unsigned_t<T>;  // wraps
    return static_cast<T>(static_cast<Unsigned>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b)));
  } else {
    return a + b;
  }
}

template <class T>
T tree(const std::vector<T>& values, std::size_t low, std::size_t high, baleen_reduction_t reduction) {
  if (high - low == 1) return values[low];
  const std::size_t middle = tree_middle(low, high);
  return combine(tree(values, low, middle, reduction), tree(values, middle, high, reduction), reduction);
}

// Element by element, so that input and output may be the same.
template <class Element>
void reduce_entry(const Members& members, std::size_t entry) {
  using Stored = typename Element::Stored;
  const Collective& first = *members[0];
  const CollectiveEntry& shape = first.entries[entry];
  std::vector<typename Element::Computed> values(members.size());
  for (std::uint64_t i = 0; i < shape.count; ++i) {
    for (std::size_t r = 0; r < members.size(); ++r) {
      Stored stored;
      std::memcpy(&stored, input(members, r, entry) + i * sizeof(Stored), sizeof(Stored));
      values[r] = Element::load(stored);
    }
    const Stored result = Element::store(tree(values, 0, values.size(), first.reduction));
    for (std::size_t r = 0; r < members.size(); ++r) {
      if (first.op == BALEEN_REDUCE && r != first.root) continue;
      const ElementRange wanted = first.op == BALEEN_REDUCE_SCATTER ? shape.block_of(r) : ElementRange{0, shape.count};
      if (i >= wanted.begin && i < wanted.end)
        std::memcpy(output(members, r, entry) + (i - wanted.begin) * sizeof(Stored), &result, sizeof(Stored));
    }
  }
}

void reduce_entry(const Members& members, std::size_t entry, baleen_dtype_t dtype) {
  switch (dtype) {
    case BALEEN_F32: return reduce_entry<Plain<float>>(members, entry);
    case BALEEN_F64: return reduce_entry<Plain<double>>(members, entry);
    case BALEEN_F16: return reduce_entry<Fp16>(members, entry);
    case BALEEN_BF16: return reduce_entry<Bf16>(members, entry);
    case BALEEN_I32: return reduce_entry<Plain<std::int32_t>>(members, entry);
    case BALEEN_I64: return reduce_entry<Plain<std::int64_t>>(members, entry);
    default: return reduce_entry<Plain<std::uint8_t>>(members, entry);
  }
}

void move_bytes(std::byte* to, const std::byte* from, std::uint64_t bytes) {
  if (bytes > 0 && to != from) std::memcpy(to, from, bytes);
}

void all_gather(const Members& members, std::size_t entry, std::size_t width) {
  for (std::size_t from = 0; from < members.size(); ++from) {
    const ElementRange block = members[0]->entries[entry].block_of(from);
    for (std::size_t to = 0; to < members.size(); ++to)
      if (block.size() > 0)
        move_bytes(output(members, to, entry) + block.begin * width, input(members, from, entry), block.size() * width);
  }
}

void all_to_all(const Members& members, std::size_t entry, std::size_t width) {
  std::vector<std::uint64_t> filled(members.size());  // of each output
  for (std::size_t from = 0; from < members.size(); ++from) {
    std::uint64_t read = 0;
    for (std::size_t to = 0; to < members.size(); ++to) {
      const std::uint64_t bytes = members[from]->sends(members[from]->entries[entry], to) * width;
      if (bytes > 0) move_bytes(output(members, to, entry) + filled[to], input(members, from, entry) + read, bytes);
      read += bytes;
      filled[to] += bytes;
    }
  }
}

// By way of a copy: in place, everyone's input is someone's output.
void permute(const Members& members, std::size_t entry, std::size_t bytes) {
  std::vector<std::vector<std::byte>> inputs(members.size());
  const auto& destinations = members[0]->destinations;
  for (std::size_t r = 0; r < members.size(); ++r)
    if (destinations[r] >= 0 && bytes > 0) inputs[r].assign(input(members, r, entry), input(members, r, entry) + bytes);
  for (std::size_t r = 0; r < members.size(); ++r)
    if (destinations[r] >= 0)
      move_bytes(output(members, static_cast<std::size_t>(destinations[r]), entry), inputs[r].data(), bytes);
}

void broadcast(const Members& members, std::size_t entry, std::size_t bytes) {
  const std::size_t root = members[0]->root;
  for (std::size_t r = 0; r < members.size(); ++r)
    if (output(members, r, entry)) move_bytes(output(members, r, entry), input(members, root, entry), bytes);
}

}  // namespace

void execute(const Members& members) {
  const Collective& first = *members[0];
  const std::size_t width = first.width();
  for (std::size_t entry = 0; entry < first.entries.size(); ++entry) {
    const std::uint64_t bytes = first.entries[entry].count * width;
    switch (first.op) {
      case BALEEN_ALL_GATHER: all_gather(members, entry, width); break;
      case BALEEN_BROADCAST: broadcast(members, entry, bytes); break;
      case BALEEN_ALL_TO_ALL: all_to_all(members, entry, width); break;
      case BALEEN_PERMUTE: permute(members, entry, bytes); break;
      case BALEEN_SEND: move_bytes(output(members, 1, entry), input(members, 0, entry), bytes); break;
      case BALEEN_BARRIER: break;
      default: reduce_entry(members, entry, first.dtype); break;
    }
  }
}

}  // namespace baleen::loopback
