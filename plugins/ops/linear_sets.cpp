/// \file In which of its inputs an expression is linear.
#include <algorithm>
#include <cstddef>

#include "baleen/expression.hpp"
#include "pointwise.hpp"

namespace baleen::ops {
namespace {

/// How an instruction depends on the inputs of a set, for 64 sets at once: a bit of each word is a set's. A set with no
/// bit anywhere: not at all. `zero`: it is 0, and so linear beside what is.
struct Dependence {
  std::uint64_t zero = 0, linear = 0, other = 0;

  std::uint64_t varies() const { return linear | other; }
  std::uint64_t none() const { return ~(zero | linear | other); }
};

Dependence sum_of(const Dependence& a, const Dependence& b) {
  const std::uint64_t mixed = (a.linear & b.none()) | (a.none() & b.linear);  // linear + constant
  return {a.zero & b.zero, (a.linear & (b.linear | b.zero)) | (a.zero & b.linear), a.other | b.other | mixed};
}

/// What is linear where `linear` says so, and varies in another way where else an operand does.
Dependence linear_in(std::uint64_t linear, std::uint64_t varies) { return {0, linear, varies & ~linear}; }

Dependence choice_of(const Dependence& condition, const Dependence& a, const Dependence& b) {
  const Dependence chosen = sum_of(a, b);
  return linear_in(chosen.linear & ~condition.varies(), chosen.varies() | condition.varies());
}

Dependence step(const baleen_instruction_t& i, const std::vector<Dependence>& at) {
  const int operands = operand_count(i.opcode);
  const Dependence none;
  const Dependence &a = operands > 0 ? at[i.a] : none, &b = operands > 1 ? at[i.b] : none;
  switch (i.opcode) {
    case BALEEN_X_CONSTANT: return {i.constant == 0 ? ~std::uint64_t{0} : 0, 0, 0};
    case BALEEN_X_ADD:
    case BALEEN_X_SUB: return sum_of(a, b);
    case BALEEN_X_NEG: return a;
    case BALEEN_X_MUL: return linear_in((a.linear & b.none()) | (a.none() & b.linear), a.varies() | b.varies());
    case BALEEN_X_DIV: return linear_in(a.linear & b.none(), a.varies() | b.varies());
    case BALEEN_X_SELECT: return choice_of(a, b, at[i.c]);
    default: return linear_in(0, a.varies() | b.varies());
  }
}

/// Subsets in the order of their bits, or each input alone and then all.
struct Candidates {
  std::size_t inputs;
  bool subsets;

  std::size_t count() const {
    if (subsets) return (std::size_t{1} << inputs) - 1;
    return inputs + 1;
  }
  bool holds(std::size_t set, std::size_t input) const {
    return subsets ? ((set + 1) >> input & 1) != 0 : set == input || set == inputs;
  }
};

/// The sets from `first` on in which all results are linear, a bit for each.
std::uint64_t linear_from(std::size_t first, const Candidates& sets, std::span<const baleen_instruction_t> code,
                          std::span<const std::int64_t> results, std::span<const std::uint32_t> inputs) {
  std::vector<Dependence> at;
  at.reserve(code.size());
  for (const baleen_instruction_t& i : code) {
    if (i.opcode != BALEEN_X_INPUT) {
      at.push_back(step(i, at));
      continue;
    }
    const auto number = static_cast<std::size_t>(std::find(inputs.begin(), inputs.end(), i.a) - inputs.begin());
    Dependence& own = at.emplace_back();
    for (std::size_t set = 0; set < 64 && number < inputs.size(); ++set)
      if (sets.holds(first + set, number)) own.linear |= std::uint64_t{1} << set;
  }
  std::uint64_t linear = ~std::uint64_t{0};
  for (const std::int64_t result : results) linear &= at[static_cast<std::size_t>(result)].linear;
  return linear;
}

}  // namespace

std::vector<std::vector<std::uint32_t>> linear_sets(std::span<const baleen_instruction_t> code,
                                                    std::span<const std::int64_t> results,
                                                    std::span<const std::uint32_t> inputs) {
  constexpr std::size_t kAllSubsets = 6;
  const Candidates sets{inputs.size(), inputs.size() <= kAllSubsets};
  std::vector<std::vector<std::uint32_t>> found;
  for (std::size_t first = 0; first < sets.count(); first += 64) {
    const std::uint64_t linear = linear_from(first, sets, code, results, inputs);
    for (std::size_t set = first; set < std::min(first + 64, sets.count()); ++set) {
      if ((linear >> (set - first) & 1) == 0) continue;
      std::vector<std::uint32_t>& kept = found.emplace_back();
      for (std::size_t i = 0; i < inputs.size(); ++i)
        if (sets.holds(set, i)) kept.push_back(inputs[i]);
    }
  }
  return found;
}

}  // namespace baleen::ops
