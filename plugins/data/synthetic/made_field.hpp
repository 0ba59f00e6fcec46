/// \file A field whose elements are computed: what a text such as "image f32 3 x height=64 x 64" describes.
#pragma once
#include <cstdint>
#include <string_view>

#include "baleen/data.hpp"
#include "baleen/permutation.hpp"

namespace baleen::synthetic {

/// A bit pattern for element `index` of row `row`, a pure function of all three. `row_key` differs by split and field.
inline std::uint64_t bits_at(std::uint64_t row_key, std::uint64_t row, std::uint64_t index) {
  return sdk::mix_key(row_key, row, index);
}

/// In [0, bound), of which `bits` chooses one; bound > 0.
inline std::int64_t below(std::uint64_t bits, std::int64_t bound) {
  return static_cast<std::int64_t>(bits % static_cast<std::uint64_t>(bound));
}

/// About normal with mean 0 and deviation 1: four uniform numbers of 16 bits each, added up exactly, so that every
/// processor makes the same one.
inline float about_normal(std::uint64_t bits) {
  const std::uint64_t sum = (bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) + (bits >> 48);
  // Each has mean 32767.5 and variance (2^32 - 1) / 12.
  constexpr float kDeviation = 37837.22f;
  return (static_cast<float>(sum) - 131070.0f) / kDeviation;
}

struct MadeField {
  baleen_field_t field{};
  std::int64_t count = 1;  ///< elements of a row
  std::int64_t bound = 0;  ///< of whole numbers: each is below it

  /// Writes row `row`.
  void make(std::uint64_t row_key, std::uint64_t row, void* out) const;
};

/// "NAME DTYPE [EXTENT x EXTENT ...] [< BOUND]" with EXTENT a number or AXIS=NUMBER. An error says what is wrong with
/// which text.
Result<MadeField> parse_field(std::string_view text);

}  // namespace baleen::synthetic
