/// \file Tries plans and keeps the cheapest that fits.
#include "budget_search.hpp"

#include <algorithm>
#include <utility>

#include "selection.hpp"

namespace baleen::recompute {
namespace {

/// Budgets of the chain's model that plans are made for, whatever the user's.
constexpr int kScan = 20;
/// Halvings of what lies between two of them.
constexpr int kHalvings = 6;
/// Limits of FLOPs per byte.
constexpr std::size_t kLevels = 8;
/// How often some ops are changed at once to leave a plan that no change of one or two betters.
constexpr int kKicks = 300;
/// Plans that are bettered, the cheapest first.
constexpr std::size_t kStarts = 3;

}  // namespace

BudgetSearch::BudgetSearch(const ForwardPass& pass, const Blocks& blocks, Peak peak, Limits limits)
    : pass_(pass), blocks_(blocks), chain_(pass, blocks), peak_(std::move(peak)), limits_(limits) {
  without_ = tried(Chosen(pass.size(), 0)).bytes;
}

const Plan& BudgetSearch::tried(Chosen wanted) {
  wanted = pass_.needed(std::move(wanted));
  if (const auto found = plans_.find(wanted); found != plans_.end()) return found->second;
  const Plan plan{wanted, peak_(wanted), pass_.flops(wanted)};
  return plans_.emplace(std::move(wanted), plan).first->second;
}

/// Ops that could save something.
std::vector<std::size_t> BudgetSearch::candidates() const {
  std::vector<std::size_t> list;
  for (std::size_t i = 0; i < pass_.size(); ++i)
    if (pass_[i].eligible && !pass_[i].view && pass_.bytes(i) > 0) list.push_back(i);
  return list;
}

void BudgetSearch::try_all_sets() {
  const std::vector<std::size_t> ops = candidates();
  for (std::size_t mask = 0; mask < std::size_t{1} << ops.size(); ++mask) {
    Chosen wanted(pass_.size(), 0);
    for (std::size_t k = 0; k < ops.size(); ++k) wanted[ops[k]] = (mask >> k & 1) != 0;
    tried(std::move(wanted));
  }
}

void BudgetSearch::try_chain() {
  const std::int64_t most = chain_.most(), least = chain_.least();
  for (int i = 0; i <= kScan; ++i) {
    Chosen chosen = chain_.cheapest(least + (most - least) * i / kScan);
    if (!chosen.empty()) tried(std::move(chosen));
  }
  if (blocks_.count() > 0) tried(whole_blocks(pass_, blocks_, 1));
  try_cheap();
}

/// All ops of up to so many FLOPs per byte, for some numbers of FLOPs.
void BudgetSearch::try_cheap() {
  std::vector<double> ratios;
  for (const std::size_t op : candidates()) ratios.push_back(pass_[op].flops / static_cast<double>(pass_.bytes(op)));
  std::ranges::sort(ratios);
  ratios.erase(std::unique(ratios.begin(), ratios.end()), ratios.end());
  for (std::size_t i = 0; i < std::min(kLevels, ratios.size()); ++i) {
    const double ratio = ratios[(i + 1) * ratios.size() / std::min(kLevels, ratios.size()) - 1];
    Chosen wanted(pass_.size(), 0);
    for (const std::size_t op : candidates())
      wanted[op] = pass_[op].flops <= ratio * static_cast<double>(pass_.bytes(op));
    tried(pass_.without_useless(std::move(wanted)));
  }
}

const Plan& BudgetSearch::least() {
  if (least_) return *least_;
  if (candidates().size() <= limits_.exact)
    try_all_sets();
  else
    try_chain();
  const auto holds_less = [](const Plan& a, const Plan& b) {
    return a.bytes != b.bytes ? a.bytes < b.bytes : a.flops < b.flops;
  };
  std::vector<Plan> best;
  for (const auto& [chosen, plan] : plans_) best.push_back(plan);
  std::ranges::sort(best, holds_less);
  least_ = best.front();
  if (candidates().size() <= limits_.exact) return *least_;
  best.resize(std::min(best.size(), kStarts));
  for (Plan& plan : best)
    if (hold_less(plan); holds_less(plan, *least_)) least_ = plan;
  std::minstd_rand random(1);
  for (int kick = 0; kick < kKicks && plans_.size() < limits_.tries / 2; ++kick) {
    Plan plan = tried(kicked(*least_, random));
    while (change_one(plan)) {
    }
    if (holds_less(plan, *least_)) least_ = plan;
  }
  return *least_;
}

/// An op, or two, run again or do so no longer, where less is held then.
void BudgetSearch::hold_less(Plan& plan) {
  while (plans_.size() < limits_.tries / 2 && (change_one(plan) || change_two(plan))) {
  }
}

bool BudgetSearch::change_one(Plan& plan) {
  bool changed = false;
  for (const std::size_t op : candidates()) {
    if (plans_.size() >= limits_.tries / 2) break;
    Chosen wanted = plan.needed;
    wanted[op] = !wanted[op];
    if (const Plan& other = tried(std::move(wanted)); other.bytes < plan.bytes) {
      plan = other;
      changed = true;
    }
  }
  return changed;
}

bool BudgetSearch::change_two(Plan& plan) {
  const std::vector<std::size_t> ops = candidates();
  for (std::size_t a = 0; a < ops.size(); ++a)
    for (std::size_t b = 0; b < a; ++b) {
      if (plans_.size() >= limits_.tries / 2) return false;
      Chosen wanted = plan.needed;
      wanted[ops[a]] = !wanted[ops[a]];
      wanted[ops[b]] = !wanted[ops[b]];
      if (const Plan& other = tried(std::move(wanted)); other.bytes < plan.bytes) {
        plan = other;
        return true;
      }
    }
  return false;
}

std::optional<Plan> BudgetSearch::within(std::uint64_t budget) {
  if (without_ <= budget) return tried(Chosen(pass_.size(), 0));
  if (least().bytes > budget) return std::nullopt;
  const bool exact = candidates().size() <= limits_.exact;
  if (!exact) search_between(budget);
  std::vector<Plan> fitting;
  for (const auto& [chosen, plan] : plans_)
    if (plan.bytes <= budget) fitting.push_back(plan);
  std::ranges::sort(fitting, {}, &Plan::flops);
  if (exact) return fitting.front();
  fitting.resize(std::min(fitting.size(), kStarts));
  Plan best = fitting.front();
  for (Plan& start : fitting) {
    Plan plan = bettered(std::move(start), budget);
    if (plan.flops < best.flops) best = std::move(plan);
  }
  std::minstd_rand random(1);
  for (int kick = 0; kick < kKicks && may_try(); ++kick) {
    const Plan& start = tried(kicked(best, random));
    if (start.bytes > budget) continue;
    Plan plan = bettered(start, budget);
    if (plan.flops < best.flops) best = std::move(plan);
  }
  return best;
}

/// With some ops changed, the same ones in every run.
Chosen BudgetSearch::kicked(const Plan& plan, std::minstd_rand& random) const {
  const std::vector<std::size_t> ops = candidates();
  Chosen wanted = plan.needed;
  for (std::size_t i = 2 + random() % 3; i > 0; --i) {
    char& one = wanted[ops[random() % ops.size()]];
    one = !one;
  }
  return wanted;
}

/// The chain's model is not what is held: the budget of the model whose plan is just within the user's.
void BudgetSearch::search_between(std::uint64_t budget) {
  std::int64_t low = chain_.least(), high = chain_.most();
  for (int i = 0; i < kHalvings + 4 && high - low > 1; ++i) {
    const std::int64_t middle = low + (high - low) / 2;
    Chosen chosen = chain_.cheapest(middle);
    const bool fits = !chosen.empty() && tried(std::move(chosen)).bytes <= budget;
    (fits ? low : high) = middle;
  }
}

Plan BudgetSearch::bettered(Plan plan, std::uint64_t budget) {
  while (may_try() && (leave_out(plan, budget) || exchange(plan, budget))) {
  }
  return plan;
}

/// Ops in the plan, or that could be, the costliest first.
std::vector<std::size_t> BudgetSearch::by_flops(const Chosen& chosen, bool is_in) const {
  std::vector<std::size_t> list;
  for (const std::size_t i : candidates())
    if ((chosen[i] != 0) == is_in) list.push_back(i);
  std::ranges::stable_sort(list, [&](std::size_t a, std::size_t b) { return pass_[a].flops > pass_[b].flops; });
  return list;
}

/// One op less, where it still fits.
bool BudgetSearch::leave_out(Plan& plan, std::uint64_t budget) {
  bool changed = false;
  for (const std::size_t op : by_flops(plan.needed, true)) {
    if (!plan.needed[op] || !may_try()) continue;
    Chosen fewer = plan.needed;
    fewer[op] = 0;
    const Plan& other = tried(std::move(fewer));
    if (other.bytes > budget || other.flops >= plan.flops) continue;
    plan = other;
    changed = true;
  }
  return changed;
}

/// One or two cheaper ops in the place of one.
bool BudgetSearch::exchange(Plan& plan, std::uint64_t budget) {
  const std::vector<std::size_t> out = by_flops(plan.needed, true), in = by_flops(plan.needed, false);
  const auto try_exchange = [&](std::initializer_list<std::size_t> less, std::initializer_list<std::size_t> more) {
    if (!may_try()) return false;
    Chosen changed = plan.needed;
    for (const std::size_t op : less) changed[op] = 0;
    for (const std::size_t op : more) changed[op] = 1;
    if (pass_.flops(pass_.needed(changed)) >= plan.flops) return false;
    const Plan& other = tried(std::move(changed));
    if (other.bytes > budget) return false;
    plan = other;
    return true;
  };
  for (const std::size_t op : out)
    for (const std::size_t other : in)
      if (try_exchange({op}, {other})) return true;
  for (const std::size_t op : out)
    for (std::size_t a = 0; a < in.size(); ++a)
      for (std::size_t b = 0; b < a; ++b)
        if (try_exchange({op}, {in[a], in[b]})) return true;
  return false;
}

}  // namespace baleen::recompute
