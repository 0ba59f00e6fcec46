/// \file The longest loop of each group.
#include "contraction.hpp"

#include <algorithm>

namespace baleen::cpu {
namespace {

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

Result<Contraction> parse_contraction(std::string_view spec, const Operand& a, const Operand& b, const Operand& y,
                                      const Operand* c_operand) {
  BALEEN_TRY_ASSIGN(ContractionGroups groups, contraction_groups(spec, a, b, y, c_operand));
  Contraction c;
  c.m = take_longest(groups.m);
  c.n = take_longest(groups.n);
  c.k = take_longest(groups.k);
  c.outer = std::move(groups.batch);
  c.outer.insert(c.outer.end(), groups.m.begin(), groups.m.end());
  c.outer.insert(c.outer.end(), groups.n.begin(), groups.n.end());
  c.outer_depth = std::move(groups.k);
  return c;
}

}  // namespace baleen::cpu
