/// \file Where assigned values are computed, and the order that this asks for.
#include <algorithm>
#include <queue>
#include <set>

#include "compiler/codegen/passes.hpp"

namespace baleen {
namespace {

using StepNumber = std::size_t;

/// Which step must come before which, within a section. Calls begin in one order, so that a step which needs a call
/// also needs what all earlier calls read.
class Order {
 public:
  Order(const Lowered& lowered, const std::vector<ProgramStep>& steps)
      : lowered_(lowered),
        steps_(steps),
        makers_(lowered.values.size(), kNoStep),
        after_(steps.size()),
        before_(steps.size()) {
    for (StepNumber s = 0; s < steps.size(); ++s)
      for (LowValue v : steps[s].writes) makers_[v] = s;
    number_calls();
    for (StepNumber s = 0; s < steps.size(); ++s)
      for (LowValue v : steps[s].reads) depend(s, v);
  }

  /// The step that writes `v`, or what it is a view of.
  StepNumber maker(LowValue v) const {
    while (makers_[v] == kNoStep) v = lowered_.ops[lowered_.values[v].producer].op.inputs[0];
    return makers_[v];
  }
  void add_edge(StepNumber before, StepNumber after) {
    if (!after_[before].empty() && after_[before].back() == after) return;  // a step reads several results of another
    after_[before].push_back(after);
    before_[after].push_back(before);
    spread(last_needed_, after_, before, after, [](Call a, Call b) { return std::max(a, b); });
    spread(first_fed_, before_, after, before, [](Call a, Call b) { return std::min(a, b); });
  }
  /// Whether some call that `to` needs, or an earlier one, needs `from`.
  bool reaches_through_calls(StepNumber from, StepNumber to) const { return first_fed_[from] <= last_needed_[to]; }

  /// Whether `from` must come before `to`, of the same section, directly or not.
  bool reaches(StepNumber from, StepNumber to) const {
    std::set<StepNumber> seen{from};
    std::vector<StepNumber> todo{from};
    while (!todo.empty()) {
      const StepNumber s = todo.back();
      todo.pop_back();
      if (s == to) return true;
      for (StepNumber next : after_[s])
        if (steps_[next].section <= steps_[to].section && seen.insert(next).second) todo.push_back(next);
    }
    return false;
  }

  /// Numbers of the steps in an order that keeps all edges and, apart from them, the present order.
  std::vector<StepNumber> sorted() const {
    std::vector<std::size_t> missing(steps_.size(), 0);
    for (const auto& list : after_)
      for (StepNumber s : list) ++missing[s];
    auto later = [&](StepNumber a, StepNumber b) {
      return std::pair(steps_[a].section, a) > std::pair(steps_[b].section, b);
    };
    std::priority_queue<StepNumber, std::vector<StepNumber>, decltype(later)> ready(later);
    for (StepNumber s = 0; s < steps_.size(); ++s)
      if (missing[s] == 0) ready.push(s);
    std::vector<StepNumber> result;
    while (!ready.empty()) {
      result.push_back(ready.top());
      ready.pop();
      for (StepNumber next : after_[result.back()])
        if (--missing[next] == 0) ready.push(next);
    }
    return result;
  }

 private:
  using Call = std::size_t;
  static constexpr StepNumber kNoStep = SIZE_MAX;

  void number_calls() {
    std::map<LowOp, Call> numbers;
    Call number = 0;
    for (const std::vector<LowOp>& call : order_calls(lowered_)) {
      ++number;
      for (LowOp op : call) numbers[op] = number;
    }
    last_needed_.assign(steps_.size(), 0);
    first_fed_.assign(steps_.size(), number + 1);
    for (StepNumber s = 0; s < steps_.size(); ++s)
      if (steps_[s].call) last_needed_[s] = first_fed_[s] = numbers.at(steps_[s].op);
  }

  /// A number goes along the new edge, and on from there along `edges`, as long as that changes something.
  template <class Combine>
  static void spread(std::vector<Call>& numbers, const std::vector<std::vector<StepNumber>>& edges, StepNumber from,
                     StepNumber to, Combine&& combine) {
    std::vector<std::pair<StepNumber, StepNumber>> todo{{from, to}};
    while (!todo.empty()) {
      const auto [source, reached] = todo.back();
      todo.pop_back();
      const Call combined = combine(numbers[reached], numbers[source]);
      if (std::exchange(numbers[reached], combined) == combined) continue;
      for (StepNumber next : edges[reached]) todo.emplace_back(reached, next);
    }
  }

  void depend(StepNumber reader, LowValue v) {
    if (makers_[v] != kNoStep) {
      if (makers_[v] != reader) add_edge(makers_[v], reader);
      return;
    }
    const LowOp producer = lowered_.values[v].producer;
    if (producer == kNone) return;
    for (LowValue input : lowered_.ops[producer].op.inputs) depend(reader, input);
  }

  const Lowered& lowered_;
  const std::vector<ProgramStep>& steps_;
  std::vector<StepNumber> makers_;  ///< by value
  std::vector<std::vector<StepNumber>> after_, before_;
  std::vector<Call> last_needed_;  ///< by step: the last call, from 1, whose result it needs; 0: none
  std::vector<Call> first_fed_;    ///< by step: the first call that needs it; one more than there are: none
};

class AssignResolver {
 public:
  AssignResolver(Lowered& lowered, std::vector<ProgramStep> steps, KernelStore& kernels)
      : lowered_(lowered), kernels_(kernels), steps_(std::move(steps)), order_(lowered, steps_) {
    for (StepNumber s = 0; s < steps_.size(); ++s)
      for (LowValue v : steps_[s].reads)
        if (lowered_.storage_of(v).is_stored()) readers_[lowered_.root_of(v)].insert(s);
  }

  Result<std::vector<ProgramStep>> run() {
    std::vector<const LoweredAssign*> copied;
    for (const LoweredAssign& assign : lowered_.assigns) {
      if (direct_is_legal(assign))
        make_direct(assign);
      else if (lowered_.storage_of(assign.target).kind !=
               Storage::Kind::offloaded)  // else it is put from its own bytes
        copied.push_back(&assign);
    }
    std::vector<ProgramStep> result;
    result.reserve(steps_.size());
    for (StepNumber s : order_.sorted()) result.push_back(std::move(steps_[s]));
    if (result.size() != steps_.size()) return internal("the steps of a program depend on each other in a circle");
    for (const LoweredAssign* assign : copied) BALEEN_TRY(append_copy(*assign, result));
    return result;
  }

 private:
  /// Whether the step that makes the value may write it over the target: it runs once, and every reader of the old
  /// value comes before it, or can.
  bool direct_is_legal(const LoweredAssign& assign) const {
    const StepNumber maker = order_.maker(assign.value);
    if (lowered_.sections[steps_[maker].section].loop >= 0) return false;
    const auto readers = readers_.find(lowered_.root_of(assign.target));
    if (readers == readers_.end()) return true;
    return std::all_of(readers->second.begin(), readers->second.end(), [&](StepNumber reader) {
      if (reader == maker) return reads_in_place(steps_[maker], assign);
      if (steps_[reader].section != steps_[maker].section) return steps_[reader].section < steps_[maker].section;
      // A call begins as soon as it has its inputs, so that only what these come from is sure to be done.
      if (steps_[maker].call) return order_.reaches(reader, maker);
      return !order_.reaches(maker, reader) && !order_.reaches_through_calls(maker, reader);
    });
  }

  /// The maker reads the old value itself: only as the target as a whole, and its kernel allows it.
  bool reads_in_place(const ProgramStep& step, const LoweredAssign& assign) const {
    const std::uint32_t target = lowered_.root_of(assign.target);
    LowValue read = kNone;
    for (LowValue v : step.reads) {
      if (lowered_.root_of(v) != target) continue;
      if (read != kNone) return false;
      read = v;
    }
    return step.launches.size() == 1 && lowered_.values[read].shape == lowered_.values[assign.value].shape &&
           lowered_.fills_storage(read) && kernels_.may_alias(step.launches[0].kernel, assign.value, read);
  }

  void make_direct(const LoweredAssign& assign) {
    const StepNumber maker = order_.maker(assign.value);
    const std::uint32_t target = lowered_.root_of(assign.target);
    for (StepNumber reader : readers_[target])
      if (reader != maker && steps_[reader].section == steps_[maker].section) order_.add_edge(reader, maker);
    lowered_.storages[lowered_.root_of(assign.value)].merged_into = target;
  }

  /// The value goes into its target when everything else is done.
  Status append_copy(const LoweredAssign& assign, std::vector<ProgramStep>& steps) {
    Op copy;
    copy.kind = lowered_.registry->find("copy");
    copy.name = assign.name;
    copy.inputs = {assign.value};
    copy.outputs = {lowered_.add_value(LoweredValue(lowered_.values[assign.target]))};
    BALEEN_TRY_ASSIGN(const std::uint32_t kernel, kernels_.compile(RegionView(lowered_, {&copy}), copy));
    ProgramStep step;
    step.section = lowered_.closing_section();
    step.reads = copy.inputs;
    step.writes = copy.outputs;
    step.in_place = false;
    step.launches = {{Guard::always, kernel, kernels_[kernel].operands}};
    step.op = lowered_.add_op(std::move(copy), LoweringKind::kernel, step.section);
    steps.push_back(std::move(step));
    return {};
  }

  Lowered& lowered_;
  KernelStore& kernels_;
  std::vector<ProgramStep> steps_;
  Order order_;
  std::map<std::uint32_t, std::set<StepNumber>> readers_;  ///< of the old values, by persistent storage
};

}  // namespace

Result<std::vector<ProgramStep>> resolve_assigns(Lowered& lowered, std::vector<ProgramStep> steps,
                                                 KernelStore& kernels) {
  return AssignResolver(lowered, std::move(steps), kernels).run();
}

}  // namespace baleen
