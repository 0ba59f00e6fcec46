/// \file Stream: a binary search for the run, then widening copies.
#include "stream.hpp"

#define XXH_STATIC_LINKING_ONLY  // the state's size
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace baleen::text {
namespace {

static_assert(std::endian::native == std::endian::little, "token files are little endian");

template <class T>
void widen(const std::byte* from, std::span<std::int32_t> out) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    T token;
    std::memcpy(&token, from + i * sizeof(T), sizeof(T));  // a run need not be aligned
    out[i] = static_cast<std::int32_t>(token);
  }
}

template <class T>
std::int64_t largest_of(const Run& run) {
  T found = 0;
  for (std::int64_t i = 0; i < run.tokens; ++i) {
    T token;
    std::memcpy(&token, run.data + static_cast<std::size_t>(i) * sizeof(T), sizeof(T));
    found = std::max(found, token);
  }
  return static_cast<std::int64_t>(found);
}

}  // namespace

void Stream::append(const Run& run) {
  if (run.tokens == 0) return;
  runs_.push_back(run);
  ends_.push_back(size() + run.tokens);
}

void Stream::read(std::int64_t first, std::span<std::int32_t> out) const {
  auto number = static_cast<std::size_t>(std::upper_bound(ends_.begin(), ends_.end(), first) - ends_.begin());
  std::int64_t inside = first - (number == 0 ? 0 : ends_[number - 1]);
  while (!out.empty()) {
    const Run& run = runs_[number++];
    const auto count = std::min(out.size(), static_cast<std::size_t>(run.tokens - inside));
    const std::byte* from = run.data + inside * run.width;
    if (run.width == 1) widen<std::uint8_t>(from, out.first(count));
    if (run.width == 2) widen<std::uint16_t>(from, out.first(count));
    if (run.width == 4) widen<std::uint32_t>(from, out.first(count));
    out = out.subspan(count);
    inside = 0;
  }
}

std::uint64_t Stream::digest() const {
  constexpr std::int64_t kTokens = 1 << 26, kPiece = 1 << 14;
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  const std::int64_t all = size(), stride = all <= kTokens ? kPiece : all / (kTokens / kPiece);
  XXH3_64bits_update(&state, &all, sizeof all);
  std::vector<std::int32_t> piece;
  for (std::int64_t first = 0; first < all; first += stride) {
    piece.resize(static_cast<std::size_t>(std::min(kPiece, all - first)));
    read(first, piece);
    XXH3_64bits_update(&state, piece.data(), piece.size() * sizeof piece[0]);
  }
  return XXH3_64bits_digest(&state);
}

std::int64_t Stream::largest() const {
  std::int64_t found = -1;
  for (const Run& run : runs_) {
    if (run.width == 1) found = std::max(found, largest_of<std::uint8_t>(run));
    if (run.width == 2) found = std::max(found, largest_of<std::uint16_t>(run));
    if (run.width == 4) found = std::max(found, largest_of<std::uint32_t>(run));
  }
  return found;
}

}  // namespace baleen::text
