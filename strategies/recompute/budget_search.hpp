/// \file The fewest FLOPs with which the forward and backward pass hold at most so many bytes.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <random>

#include "chain.hpp"

namespace baleen::recompute {

/// What would be held at once if these ops ran again.
using Peak = std::function<std::uint64_t(const Chosen& needed)>;

struct Plan {
  Chosen needed;
  std::uint64_t bytes = 0;  ///< held at once
  double flops = 0;         ///< of copies
};

/// Plans of one forward pass. Each is tried, so what it holds is no estimate of this class. Where few ops could run
/// again all sets of them are tried, by rising FLOPs. Else plans come from the chain of segments, for many budgets of
/// its model, and are bettered op by op: one is left out, or a cheaper one takes its place (a local search; the problem
/// on any graph is NP-hard, Naumann 2008; Checkmate, arXiv 1910.02653, solves it by integer programs).
class BudgetSearch {
 public:
  struct Limits {
    std::size_t exact = 9;    ///< so many ops are tried in all sets
    std::size_t tries = 400;  ///< calls of `peak`, at most about
  };
  BudgetSearch(const ForwardPass& pass, const Blocks& blocks, Peak peak, Limits limits);

  /// What is held where nothing runs again.
  std::uint64_t without() const { return without_; }
  /// Nothing where no plan that was found is within the budget.
  std::optional<Plan> within(std::uint64_t budget);
  /// The plan that holds least, of those that do not depend on a budget.
  const Plan& least();

 private:
  const Plan& tried(Chosen wanted);
  bool may_try() const { return plans_.size() < limits_.tries; }
  void try_all_sets();
  void try_chain();
  void try_cheap();
  void hold_less(Plan& plan);
  Chosen kicked(const Plan& plan, std::minstd_rand& random) const;
  bool change_one(Plan& plan);
  bool change_two(Plan& plan);
  void search_between(std::uint64_t budget);
  Plan bettered(Plan plan, std::uint64_t budget);
  bool leave_out(Plan& plan, std::uint64_t budget);
  bool exchange(Plan& plan, std::uint64_t budget);
  std::vector<std::size_t> candidates() const;
  std::vector<std::size_t> by_flops(const Chosen& chosen, bool is_in) const;

  const ForwardPass& pass_;
  const Blocks& blocks_;
  const Chain chain_;
  const Peak peak_;
  const Limits limits_;
  std::uint64_t without_ = 0;
  std::map<Chosen, Plan> plans_;  ///< all that were tried
  std::optional<Plan> least_;
};

}  // namespace baleen::recompute
