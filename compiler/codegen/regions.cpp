/// \file Which ops one kernel computes together.
#include <algorithm>
#include <set>
#include <span>

#include "compiler/codegen/passes.hpp"
#include "compiler/codegen/region_view.hpp"

namespace baleen {
namespace {

class RegionFormer {
 public:
  RegionFormer(const Lowered& lowered, const KernelStore& kernels)
      : lowered_(lowered), kernels_(kernels), users_(lowered.users()), taken_(lowered.ops.size(), 0) {
    for (const LoweredAssign& assign : lowered.assigns) assigned_.insert(assign.value);
    order_.resize(lowered.ops.size());
    std::size_t next = 0;
    for (const LoweredSection& section : lowered.sections)
      for (LowOp op : section.ops) order_[op] = next++;
  }

  Regions run() {
    for (const LoweredSection& section : lowered_.sections) {
      for (LowOp op : section.ops)
        if (kernel(op) && kind(op).has(kContraction)) join_consumer(op);
      for (LowOp op : section.ops)
        if (kernel(op) && kind(op).has(kReduction)) join_producers(op);
      for (LowOp op : section.ops)
        if (kernel(op) && kind(op).has(kContraction)) join_reduction(op);
      for (LowOp op : section.ops)
        if (kernel(op) && !taken_[op] && lowered_.ops[op].op.outputs.size() > 1) join_consumer_of_first(op);
    }
    for (const LoweredSection& section : lowered_.sections)
      for (LowOp op : section.ops)
        if (kernel(op) && !taken_[op]) ending_[op] = {{op}, {}};
    return std::move(ending_);
  }

 private:
  bool kernel(LowOp op) const { return lowered_.ops[op].means == LoweringKind::kernel; }
  const OpKind& kind(LowOp op) const { return *lowered_.ops[op].op.kind; }

  /// The only op that reads a value, in the same section; kNone if that is not how it is used.
  LowOp sole_user(LowValue v) const {
    const LoweredValue& value = lowered_.values[v];
    if (users_[v].size() != 1 || value.is_output || assigned_.contains(v)) return kNone;
    const LowOp user = users_[v][0];
    return lowered_.ops[user].section == lowered_.ops[value.producer].section && kernel(user) && !taken_[user] ? user
                                                                                                               : kNone;
  }

  bool supports(const Region& region) const {
    std::vector<const Op*> ops;
    for (LowOp op : region.ops) ops.push_back(&lowered_.ops[op].op);
    return kernels_.supports(RegionView(lowered_, ops, region.interior));
  }

  bool take(Region region) {
    if (!supports(region)) return false;
    for (LowOp op : region.ops) taken_[op] = 1;
    ending_[region.ops.back()] = std::move(region);
    return true;
  }

  void join_consumer(LowOp op) {
    const auto& outputs = lowered_.ops[op].op.outputs;
    if (taken_[op] || outputs.size() != 1) return;
    const LowOp user = sole_user(outputs[0]);
    if (user == kNone || !kind(user).has(kPointwise)) return;
    const LowValue result = lowered_.ops[user].op.outputs[0];
    if (lowered_.values[result].shape == lowered_.values[outputs[0]].shape) take({{op, user}, {outputs[0]}});
  }

  /// Of an op of several results: what is made of the first one alone, as the sum is of a norm's gradient and of the
  /// one that passes beside the norm. The others are made later then.
  void join_consumer_of_first(LowOp op) {
    const LowValue first = lowered_.ops[op].op.outputs[0];
    const LowOp user = sole_user(first);
    if (user == kNone || !kind(user).has(kPointwise) || kind(op).has(kPointwise)) return;
    const auto& results = lowered_.ops[user].op.outputs;
    if (results.size() != 1 || lowered_.values[results[0]].shape != lowered_.values[first].shape) return;
    const auto others = std::span(lowered_.ops[op].op.outputs).subspan(1);
    if (std::all_of(others.begin(), others.end(), [&](LowValue v) { return is_unread_until(v, user); }))
      take({{op, user}, {first}});
  }

  /// A reduction that reads what a contraction reads, as the gradient of a bias does beside that of its weight.
  void join_reduction(LowOp op) {
    for (LowValue v : lowered_.ops[op].op.inputs)
      for (LowOp other : users_[v]) {
        if (taken_[op] || !kernel(other) || taken_[other] || !kind(other).has(kReduction)) continue;
        if (lowered_.ops[other].section != lowered_.ops[op].section) continue;
        const auto [first, last] = std::minmax(op, other, [&](LowOp x, LowOp y) { return order_[x] < order_[y]; });
        if (made_unread_until(first, last)) take({{first, last}, {}});
      }
  }

  /// Whether what `op` makes may be made where `last` stands. Sums over micro-batches are better made on their own.
  bool made_unread_until(LowOp op, LowOp last) const {
    const auto& made = lowered_.ops[op].op.outputs;
    return std::all_of(made.begin(), made.end(), [&](LowValue v) { return is_unread_until(v, last); });
  }
  bool is_unread_until(LowValue v, LowOp last) const {
    return std::all_of(users_[v].begin(), users_[v].end(), [&](LowOp user) {
      const LoweringKind means = lowered_.ops[user].means;
      if (means == LoweringKind::accumulate) return false;
      if (lowered_.ops[user].section != lowered_.ops[last].section) return true;
      const bool shows = means == LoweringKind::view || means == LoweringKind::join;
      return shows ? made_unread_until(user, last) : order_[user] > order_[last];
    });
  }

  void join_producers(LowOp op) {
    if (taken_[op]) return;
    std::vector<LowOp> producers;
    for (LowValue v : lowered_.ops[op].op.inputs) {
      const LowOp producer = lowered_.values[v].producer;
      if (producer == kNone || !kernel(producer) || !kind(producer).has(kPointwise) || taken_[producer]) continue;
      if (lowered_.ops[producer].op.outputs.size() != 1 || sole_user(v) != op) continue;
      if (std::find(producers.begin(), producers.end(), producer) == producers.end()) producers.push_back(producer);
    }
    if (producers.empty() || take(region_of(producers, op)) || producers.size() == 1) return;
    for (LowOp producer : producers)
      if (take(region_of({producer}, op))) return;
  }

  Region region_of(std::vector<LowOp> producers, LowOp reduction) const {
    Region region;
    std::sort(producers.begin(), producers.end());
    for (LowOp producer : producers) {
      region.ops.push_back(producer);
      region.interior.push_back(lowered_.ops[producer].op.outputs[0]);
    }
    region.ops.push_back(reduction);
    return region;
  }

  const Lowered& lowered_;
  const KernelStore& kernels_;
  std::vector<std::vector<LowOp>> users_;
  std::set<LowValue> assigned_;
  std::vector<char> taken_;
  std::vector<std::size_t> order_;  ///< where each op stands
  Regions ending_;
};

}  // namespace

Regions form_regions(const Lowered& lowered, const KernelStore& kernels) {
  return RegionFormer(lowered, kernels).run();
}

}  // namespace baleen
