/// \file Whether two numbers are alike.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

namespace baleen::cpu {

/// The same bits, or NaN both, whose bits may differ.
template <class T>
bool are_alike(T a, T b) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  return std::bit_cast<Bits>(a) == std::bit_cast<Bits>(b) || (std::isnan(a) && std::isnan(b));
}

}  // namespace baleen::cpu
