/// \file Parsing and grouping of letters.
#include "contraction.hpp"

#include <algorithm>

namespace baleen::cuda {
namespace {

struct Letters {
  std::string a, b, y;
};

Result<Letters> split(std::string_view spec) {
  const std::size_t comma = spec.find(','), arrow = spec.find("->");
  if (comma == spec.npos || arrow == spec.npos || arrow < comma)
    return invalid("matmul spec `" + std::string(spec) + "` is not of the form \"ab,bc->ac\"");
  return Letters{std::string(spec.substr(0, comma)), std::string(spec.substr(comma + 1, arrow - comma - 1)),
                 std::string(spec.substr(arrow + 2))};
}

std::int64_t stride_of(const std::string& letters, const Operand& operand, char letter) {
  const std::size_t at = letters.find(letter);
  return at == letters.npos ? 0 : operand.stride(static_cast<std::uint32_t>(at));
}

std::vector<Loop> merged_group(std::vector<Loop> loops) {
  std::erase_if(loops, [](const Loop& l) { return l.extent == 1; });
  std::stable_sort(loops.begin(), loops.end(), [](const Loop& one, const Loop& other) {
    return one.a + one.b + one.y > other.a + other.b + other.y;  // the order of memory
  });
  std::vector<Loop> out;
  for (const Loop& next : loops) {
    Loop* last = out.empty() ? nullptr : &out.back();
    if (last && last->a == next.a * next.extent && last->b == next.b * next.extent && last->y == next.y * next.extent)
      *last = {last->extent * next.extent, next.a, next.b, next.y};
    else
      out.push_back(next);
  }
  return out;
}

double product(const std::vector<Loop>& loops) {
  double count = 1;
  for (const Loop& loop : loops) count *= static_cast<double>(loop.extent);
  return count;
}

}  // namespace

double Contraction::flops() const { return 2 * product(batch) * product(m) * product(n) * product(k); }

Contraction merged(Contraction c) {
  for (std::vector<Loop>* group : {&c.batch, &c.m, &c.n, &c.k}) *group = merged_group(std::move(*group));
  return c;
}

Result<Contraction> parse_contraction(std::string_view spec, const Operand& a, const Operand& b, const Operand& y) {
  BALEEN_TRY_ASSIGN(const Letters letters, split(spec));
  if (letters.a.size() != a.rank() || letters.b.size() != b.rank() || letters.y.size() != y.rank())
    return invalid("matmul spec `" + std::string(spec) + "` does not fit " + shape_text(a.tensor) + ", " +
                   shape_text(b.tensor) + " -> " + shape_text(y.tensor));
  Contraction c;
  std::string all = letters.a + letters.b;
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  for (const char letter : all) {
    const std::size_t in_a = letters.a.find(letter), in_b = letters.b.find(letter);
    const bool of_a = in_a != std::string::npos, of_b = in_b != std::string::npos;
    const bool of_y = letters.y.find(letter) != std::string::npos;
    if (of_a != of_b && !of_y)
      return invalid("letter `" + std::string(1, letter) + "` of matmul spec `" + std::string(spec) +
                     "` is in one operand only");
    const std::int64_t extent =
        of_a ? a.extent(static_cast<std::uint32_t>(in_a)) : b.extent(static_cast<std::uint32_t>(in_b));
    const Loop loop{extent, stride_of(letters.a, a, letter), stride_of(letters.b, b, letter),
                    stride_of(letters.y, y, letter)};
    (of_a && of_b ? (of_y ? c.batch : c.k) : of_a ? c.m : c.n).push_back(loop);
  }
  return merged(std::move(c));
}

}  // namespace baleen::cuda
