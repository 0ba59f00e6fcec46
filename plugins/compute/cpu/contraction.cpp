/// \file Parsing and grouping of a contraction's letters.
#include "contraction.hpp"

#include <algorithm>

namespace baleen::cpu {
namespace {

struct Letters {
  std::string a, b, y;
};

Result<Letters> split(std::string_view spec) {
  const std::size_t comma = spec.find(','), arrow = spec.find("->");
  if (comma == std::string_view::npos || arrow == std::string_view::npos || arrow < comma)
    return invalid("matmul spec `" + std::string(spec) + "` is not of the form \"ab,bc->ac\"");
  return Letters{std::string(spec.substr(0, comma)), std::string(spec.substr(comma + 1, arrow - comma - 1)),
                 std::string(spec.substr(arrow + 2))};
}

std::int64_t stride_of(const std::string& letters, const Operand& operand, char letter) {
  const std::size_t at = letters.find(letter);
  return at == std::string::npos ? 0 : operand.stride(static_cast<std::uint32_t>(at));
}

// Merges loops (outermost first) where one is the continuation of the next in every operand.
std::vector<Loop> merged(std::vector<Loop> loops) {
  std::erase_if(loops, [](const Loop& l) { return l.extent == 1; });
  std::sort(loops.begin(), loops.end(), [](const Loop& x, const Loop& y) {
    return x.a + x.b + x.y > y.a + y.b + y.y;  // the strides of one memory order
  });
  std::vector<Loop> out;
  for (const Loop& next : loops) {
    if (!out.empty()) {
      Loop& last = out.back();
      if (last.a == next.a * next.extent && last.b == next.b * next.extent && last.y == next.y * next.extent) {
        last = {last.extent * next.extent, next.a, next.b, next.y};
        continue;
      }
    }
    out.push_back(next);
  }
  return out;
}

// Takes the longest loop out of the group; the others stay.
Loop take_longest(std::vector<Loop>& group) {
  if (group.empty()) return {};
  const auto longest =
      std::max_element(group.begin(), group.end(), [](const Loop& x, const Loop& y) { return x.extent < y.extent; });
  const Loop loop = *longest;
  group.erase(longest);
  return loop;
}

}  // namespace

std::int64_t Contraction::results() const {
  std::int64_t count = m.extent * n.extent;
  for (const Loop& loop : outer) count *= loop.extent;
  return count;
}

double Contraction::flops() const {
  double count = 2.0 * static_cast<double>(results()) * static_cast<double>(k.extent);
  for (const Loop& loop : outer_depth) count *= static_cast<double>(loop.extent);
  return count;
}

Result<Contraction> parse_contraction(std::string_view spec, const Operand& a, const Operand& b, const Operand& y) {
  BALEEN_TRY_ASSIGN(const Letters letters, split(spec));
  if (letters.a.size() != a.rank() || letters.b.size() != b.rank() || letters.y.size() != y.rank())
    return invalid("matmul spec `" + std::string(spec) + "` does not fit " + shape_text(a.tensor) + ", " +
                   shape_text(b.tensor) + " -> " + shape_text(y.tensor));
  std::vector<Loop> batch, m, n, k;
  std::string all = letters.a + letters.b;
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  for (const char letter : all) {
    const bool in_a = letters.a.find(letter) != std::string::npos, in_b = letters.b.find(letter) != std::string::npos,
               in_y = letters.y.find(letter) != std::string::npos;
    const std::int64_t extent = in_a ? a.extent(static_cast<std::uint32_t>(letters.a.find(letter)))
                                     : b.extent(static_cast<std::uint32_t>(letters.b.find(letter)));
    const Loop loop{extent, stride_of(letters.a, a, letter), stride_of(letters.b, b, letter),
                    stride_of(letters.y, y, letter)};
    if (in_a && in_b)
      (in_y ? batch : k).push_back(loop);
    else if (in_y)
      (in_a ? m : n).push_back(loop);
    else
      return invalid("letter `" + std::string(1, letter) + "` of matmul spec `" + std::string(spec) +
                     "` is in one operand only");
  }
  Contraction c;
  m = merged(std::move(m));
  n = merged(std::move(n));
  k = merged(std::move(k));
  c.m = take_longest(m);
  c.n = take_longest(n);
  c.k = take_longest(k);
  c.outer = merged(std::move(batch));
  c.outer.insert(c.outer.end(), m.begin(), m.end());
  c.outer.insert(c.outer.end(), n.begin(), n.end());
  c.outer_depth = std::move(k);
  return c;
}

}  // namespace baleen::cpu
