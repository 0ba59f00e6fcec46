/// \file Regions to launches of kernels, with the sums over micro-batches.
#include <algorithm>
#include <map>
#include <set>

#include "compiler/codegen/passes.hpp"

namespace baleen {
namespace {

/// A result of one micro-batch, and the sum that it is a term of.
struct Term {
  LowValue term = kNone, sum = kNone;
};

class StepBuilder {
 public:
  StepBuilder(Lowered& lowered, const Regions& regions, KernelStore& kernels)
      : lowered_(lowered), regions_(regions), kernels_(kernels), users_(lowered.users()) {}

  Result<std::vector<ProgramStep>> run() {
    find_terms();
    for (const LoweredSection& section : lowered_.sections) {
      for (LowOp op : section.ops) {
        if (auto it = regions_.find(op); it != regions_.end())
          BALEEN_TRY(add_region(it->second));
        else if (lowered_.ops[op].means == LoweringKind::accumulate && !joined_.contains(op) && !early_.contains(op))
          BALEEN_TRY(add_accumulation(op));
        else if (lowered_.ops[op].means == LoweringKind::collective)
          add_call(op);
        else if (lowered_.ops[op].means == LoweringKind::empty)
          add_empty(op);
      }
    }
    return std::move(steps_);
  }

 private:
  const LoweredOp& op(LowOp number) const { return lowered_.ops[number]; }

  /// Terms that nobody else reads are added up by the step that makes them.
  void find_terms() {
    for (LowOp number = 0; number < lowered_.ops.size(); ++number) {
      if (op(number).means != LoweringKind::accumulate) continue;
      const LowValue x = op(number).op.inputs[0];
      if (op(number).op.attributes.has("reduction")) maxima_.insert(op(number).op.outputs[0]);
      const LoweredValue& value = lowered_.values[x];
      const bool joined = value.producer != kNone && op(value.producer).means == LoweringKind::kernel &&
                          users_[x].size() == 1 && !value.is_output && lowered_.fills_storage(x);
      if (!joined) {
        sums_of_[shown(x)].push_back(number);
        continue;
      }
      terms_[x] = op(number).op.outputs[0];
      joined_.insert(number);
    }
  }

  /// The value whose bytes `v` shows.
  LowValue shown(LowValue v) const {
    const LowOp producer = lowered_.values[v].producer;
    return producer != kNone && op(producer).means == LoweringKind::view ? shown(op(producer).op.inputs[0]) : v;
  }

  /// Other terms are added up right after the step that makes them, so that a call that waits for the sum begins early.
  Status add_sums_of(const std::vector<LowValue>& made, std::uint32_t section) {
    for (LowValue v : made) {
      const auto found = sums_of_.find(v);
      if (found == sums_of_.end()) continue;
      for (LowOp number : found->second) {
        if (op(number).section != section || !early_.insert(number).second) continue;
        BALEEN_TRY(add_accumulation(number));
      }
    }
    return {};
  }

  ProgramStep step_of(LowOp number) const {
    ProgramStep step;
    step.op = number;
    step.section = op(number).section;
    step.in_place = false;
    step.reads = op(number).op.inputs;
    step.writes = op(number).op.outputs;
    return step;
  }

  void add_call(LowOp number) {
    ProgramStep step = step_of(number);
    step.call = op(number).call;
    EntryOf<LowValue>& entry = step.call->entries[0];  // `place` may have put a copy before the op
    if (!step.reads.empty()) entry.input = step.reads[0];
    if (!step.writes.empty()) entry.output = step.writes[0];
    steps_.push_back(std::move(step));
  }

  /// A view of nothing is no step, as any other view: a step would have to wait for what brings nothing.
  void add_empty(LowOp number) {
    ProgramStep step = step_of(number);
    for (LowValue v : step.writes)
      if (lowered_.elements(v) > 0) step.zeros.push_back(v);
    if (step.zeros.empty() && op(number).op.kind->has(kView)) return;
    steps_.push_back(std::move(step));
  }

  Status add_region(const Region& region) {
    ProgramStep step;
    const auto named = std::find_if(region.ops.begin(), region.ops.end(),
                                    [&](LowOp number) { return !op(number).op.kind->has(kPointwise); });
    step.op = named == region.ops.end() ? region.ops.front() : *named;
    step.section = op(step.op).section;
    std::vector<const Op*> ops;
    std::vector<Term> terms;
    for (LowOp number : region.ops) {
      ops.push_back(&op(number).op);
      for (LowValue v : op(number).op.outputs)
        if (auto it = terms_.find(v); it != terms_.end()) terms.push_back({v, it->second});
    }
    const RegionView view(lowered_, ops, region.interior);
    BALEEN_TRY_ASSIGN(const std::uint32_t kernel, kernels_.compile(view, op(step.op).op));
    for (std::size_t i = 0; i < view.values().size(); ++i) {
      if (view.tensors()[i].flags & BALEEN_TENSOR_EXTERNAL_INPUT) step.reads.push_back(view.values()[i]);
      if (view.tensors()[i].flags & BALEEN_TENSOR_OUTPUT) step.writes.push_back(view.values()[i]);
    }
    if (terms.empty())
      step.launches = {{Guard::always, kernel, kernels_[kernel].operands}};
    else
      BALEEN_TRY(add_terms(step, kernel, ops, terms));
    const std::vector<LowValue> made = step.writes;
    const std::uint32_t section = step.section;
    steps_.push_back(std::move(step));
    return add_sums_of(made, section);
  }

  /// The first micro-batch's results are the sums; later ones are added.
  Status add_terms(ProgramStep& step, std::uint32_t kernel, const std::vector<const Op*>& ops,
                   const std::vector<Term>& terms) {
    step.in_place = false;
    std::vector<LowValue> first = kernels_[kernel].operands;
    for (const Term& t : terms) {
      std::replace(first.begin(), first.end(), t.term, t.sum);
      step.writes.push_back(t.sum);
    }
    step.launches = {{Guard::first, kernel, std::move(first)}};
    if (ops.size() == 1 && terms.size() == 1 && !maxima_.contains(terms[0].sum)) {
      BALEEN_TRY_ASSIGN(const bool done, add_contraction(step, *ops[0], terms[0]));
      if (done) return {};
    }
    step.launches.push_back({Guard::not_first, kernel, kernels_[kernel].operands});
    for (const Term& t : terms) BALEEN_TRY(add_sum(step, t, *ops[0]));
    return {};
  }

  /// y = y + a·b needs no memory for the term.
  Result<bool> add_contraction(ProgramStep& step, const Op& contraction, const Term& term) {
    if (!contraction.kind->has(kContraction) || contraction.inputs.size() != 2 || contraction.outputs.size() != 1)
      return false;
    Op adding = contraction;
    adding.inputs.push_back(term.sum);
    adding.outputs = {same_place(term.sum)};
    const RegionView view(lowered_, {&adding});
    if (!kernels_.supports(view)) return false;
    BALEEN_TRY_ASSIGN(const std::uint32_t kernel, kernels_.compile(view, adding));
    if (!kernels_.may_alias(kernel, adding.outputs[0], term.sum)) return false;
    step.launches.push_back({Guard::not_first, kernel, kernels_[kernel].operands});
    step.writes = {term.sum};
    return true;
  }

  Status add_sum(ProgramStep& step, const Term& term, const Op& cause) {
    Op adding;
    adding.kind = lowered_.registry->find("accumulate");
    if (maxima_.contains(term.sum)) {
      Expression e;
      const std::uint32_t larger = e.binary(BALEEN_X_MAX, e.input(0), e.input(1));
      adding.kind = lowered_.registry->find("pointwise");
      adding.attributes.set("expression", e);
      adding.attributes.set("results", Attributes::ints({larger}));
    }
    adding.name = cause.name;
    adding.where = cause.where;
    adding.inputs = {term.sum, term.term};
    adding.outputs = {same_place(term.sum)};
    BALEEN_TRY_ASSIGN(const std::uint32_t kernel, kernels_.compile(RegionView(lowered_, {&adding}), adding));
    if (!kernels_.may_alias(kernel, adding.outputs[0], term.sum))
      return unsupported(cause.name + ": the device cannot `accumulate` in place, which gradient accumulation needs",
                         cause.where);
    step.launches.push_back({Guard::not_first, kernel, kernels_[kernel].operands});
    return {};
  }

  /// A value with the very bytes of another.
  LowValue same_place(LowValue v) { return lowered_.add_value(LoweredValue(lowered_.values[v])); }

  /// For terms that others read too, or that are views.
  Status add_accumulation(LowOp number) {
    const Op& accumulate = op(number).op;
    const Term term{accumulate.inputs[0], accumulate.outputs[0]};
    ProgramStep step;
    step.op = number;
    step.section = op(number).section;
    step.in_place = false;
    step.reads = {term.term};
    step.writes = {term.sum};
    Op copy;
    copy.kind = lowered_.registry->find("copy");
    copy.name = accumulate.name;
    copy.where = accumulate.where;
    copy.inputs = {term.term};
    copy.outputs = {term.sum};
    BALEEN_TRY_ASSIGN(const std::uint32_t kernel, kernels_.compile(RegionView(lowered_, {&copy}), copy));
    step.launches = {{Guard::first, kernel, kernels_[kernel].operands}};
    BALEEN_TRY(add_sum(step, term, accumulate));
    steps_.push_back(std::move(step));
    return {};
  }

  Lowered& lowered_;
  const Regions& regions_;
  KernelStore& kernels_;
  std::vector<std::vector<LowOp>> users_;
  std::map<LowValue, LowValue> terms_;              ///< term to sum
  std::set<LowValue> maxima_;                       ///< sums that are maxima
  std::set<LowOp> joined_;                          ///< accumulations done by the step that makes the term
  std::map<LowValue, std::vector<LowOp>> sums_of_;  ///< other accumulations by what their terms show
  std::set<LowOp> early_;                           ///< those that stand behind the step that makes the term
  std::vector<ProgramStep> steps_;
};

}  // namespace

Result<std::vector<ProgramStep>> build_steps(Lowered& lowered, const Regions& regions, KernelStore& kernels) {
  return StepBuilder(lowered, regions, kernels).run();
}

}  // namespace baleen
