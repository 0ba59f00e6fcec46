/// \file A `matmul` by letters: which of them are batch, rows, columns and depth, and how far apart their elements lie.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "baleen/region.hpp"

namespace baleen::sdk {

/// A letter, or several that merged: its extent and its stride in each operand (0 where the operand lacks it). `c` is
/// what is added to the product, of y's shape.
struct ContractionLoop {
  std::int64_t extent = 1;
  std::int64_t a = 0, b = 0, y = 0, c = 0;
};

/// y[batch, m, n] = sum over k of a[batch, m, k] b[batch, k, n]; each group outermost first, without extents of 1,
/// neighbours merged where all operands allow it.
struct ContractionGroups {
  std::vector<ContractionLoop> batch, m, n, k;

  double flops() const {
    double count = 2;
    for (const auto* group : {&batch, &m, &n, &k})
      for (const ContractionLoop& loop : *group) count *= static_cast<double>(loop.extent);
    return count;
  }
};

/// Orders loops as memory lies, outermost first, and merges each that the next continues in every operand.
inline std::vector<ContractionLoop> merged(std::vector<ContractionLoop> loops) {
  std::erase_if(loops, [](const ContractionLoop& loop) { return loop.extent == 1; });
  std::stable_sort(loops.begin(), loops.end(), [](const ContractionLoop& one, const ContractionLoop& other) {
    return one.a + one.b + one.y > other.a + other.b + other.y;
  });
  std::vector<ContractionLoop> out;
  for (const ContractionLoop& next : loops) {
    ContractionLoop* last = out.empty() ? nullptr : &out.back();
    if (last && last->a == next.a * next.extent && last->b == next.b * next.extent && last->y == next.y * next.extent &&
        last->c == next.c * next.extent)
      *last = {last->extent * next.extent, next.a, next.b, next.y, next.c};
    else
      out.push_back(next);
  }
  return out;
}

inline ContractionGroups merged(ContractionGroups groups) {
  for (auto* group : {&groups.batch, &groups.m, &groups.n, &groups.k}) *group = merged(std::move(*group));
  return groups;
}

/// The groups of a spec like "bsd,dhe->bshe" on these operands; c may be null. INVALID where it does not fit them.
inline Result<ContractionGroups> contraction_groups(std::string_view spec, const RegionOperand& a,
                                                    const RegionOperand& b, const RegionOperand& y,
                                                    const RegionOperand* c = nullptr) {
  const std::size_t comma = spec.find(','), arrow = spec.find("->");
  const std::string text(spec);
  if (comma == std::string_view::npos || arrow == std::string_view::npos || arrow < comma)
    return invalid("matmul spec `" + text + "` is not of the form \"ab,bc->ac\"");
  const std::string of_a = text.substr(0, comma), of_b = text.substr(comma + 1, arrow - comma - 1),
                    of_y = text.substr(arrow + 2);
  if (of_a.size() != a.rank() || of_b.size() != b.rank() || of_y.size() != y.rank() || (c && c->rank() != y.rank()))
    return invalid("matmul spec `" + text + "` does not fit " + shape_text(a.tensor) + ", " + shape_text(b.tensor) +
                   " -> " + shape_text(y.tensor));
  ContractionGroups groups;
  std::string letters = of_a + of_b;
  std::sort(letters.begin(), letters.end());
  letters.erase(std::unique(letters.begin(), letters.end()), letters.end());
  for (const char letter : letters) {
    const std::size_t in_a = of_a.find(letter), in_b = of_b.find(letter), in_y = of_y.find(letter);
    const bool has_a = in_a != std::string::npos, has_b = in_b != std::string::npos, has_y = in_y != std::string::npos;
    if (has_a != has_b && !has_y)
      return invalid("letter `" + std::string(1, letter) + "` of matmul spec `" + text + "` is in one operand only");
    const auto stride = [](bool has, const RegionOperand& operand, std::size_t at) {
      return has ? operand.stride(static_cast<std::uint32_t>(at)) : 0;
    };
    const std::int64_t extent =
        has_a ? a.extent(static_cast<std::uint32_t>(in_a)) : b.extent(static_cast<std::uint32_t>(in_b));
    (has_a && has_b ? (has_y ? groups.batch : groups.k)
     : has_a        ? groups.m
                    : groups.n)
        .push_back({extent, stride(has_a, a, in_a), stride(has_b, b, in_b), stride(has_y, y, in_y),
                    c ? stride(has_y, *c, in_y) : 0});
  }
  return merged(std::move(groups));
}

}  // namespace baleen::sdk
