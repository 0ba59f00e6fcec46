/// \file Executes a scheduled graph by the reference kernels.
#include "unit/compiler/plan/scheduled_run.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "support/reference_interpreter.hpp"
#include "support/reference_kernels.hpp"

namespace baleen::test {
namespace {

const std::map<std::string, Kernel>& kernels() {
  static const std::map<std::string, Kernel> all = [] {
    std::map<std::string, Kernel> made;
    add_basic_kernels(made);
    add_network_kernels(made);
    add_attention_kernels(made);
    return made;
  }();
  return all;
}

bool is_source(const Op& op) { return op.inputs.empty() && op.kind->has(kStructural); }

[[noreturn]] void fail(const Op& op, const std::string& what) {
  throw std::runtime_error(op.kind->name + " `" + op.name + "` (op " + std::to_string(op.id) + "): " + what);
}

}  // namespace

ScheduledRun::ScheduledRun(const ScheduledGraph& scheduled, std::uint64_t seed, std::uint64_t step)
    : scheduled_(scheduled), graph_(scheduled.graph), seed_(seed), step_(step) {}

void ScheduledRun::run(const std::map<std::string, Numbers>& sources) {
  check_sections();
  whole_.clear();
  result_.clear();
  assigned_.clear();
  for (OpId id : graph_.ops())
    if (const Op& op = graph_.op(id); is_source(op))
      whole_[op.outputs[0]] = Tensor(graph_.value(op.outputs[0]).shape, sources.at(op.attributes.text("name")));
  const auto& sections = scheduled_.sections;
  for (std::size_t begin = 0, end = 0; begin < sections.size(); begin = end) {
    for (end = begin + 1; sections[begin].loop >= 0 && end < sections.size(); ++end)
      if (sections[end].loop != sections[begin].loop) break;
    const std::int64_t count = sections[begin].loop < 0 ? 1 : scheduled_.micro_batches;
    for (micro_ = 0; micro_ < count; ++micro_) {
      cut_.clear();
      for (std::size_t s = begin; s < end; ++s) run_section(sections[s]);
    }
    end_loop();
  }
}

const Tensor& ScheduledRun::output(const std::string& name) const { return whole_.at(graph_.output(name)); }

/// Every live op that is no source stands in one section, once.
void ScheduledRun::check_sections() const {
  std::set<OpId> seen;
  for (const Section& section : scheduled_.sections)
    for (OpId id : section.ops) {
      if (!graph_.op(id).live) fail(graph_.op(id), "it is dead and stands in a section");
      if (!seen.insert(id).second) fail(graph_.op(id), "it stands in two sections");
    }
  for (OpId id : graph_.ops())
    if (!is_source(graph_.op(id)) && !seen.contains(id)) fail(graph_.op(id), "it stands in no section");
}

void ScheduledRun::run_section(const Section& section) {
  for (OpId id : section.ops) run_op(graph_.op(id), section.loop >= 0);
}

void ScheduledRun::run_op(const Op& op, bool in_loop) {
  if (op.kind->name == "assign") {
    if (in_loop) fail(op, "assigned once per micro-batch");
    const auto [at, fresh] = assigned_.emplace(graph_.value(op.inputs[0]).name, operand(op, op.inputs[1]));
    if (!fresh) fail(op, "assigned twice");
    return;
  }
  const std::vector<Tensor> results = compute(op);
  if (op.kind->name == "accumulate_micro") {
    if (!in_loop) fail(op, "accumulates outside of a loop");
    auto [at, first] = accumulating_.emplace(op.outputs[0], results[0]);
    const bool is_maximum = op.attributes.has("reduction");
    for (std::size_t i = 0; !first && i < results[0].size(); ++i)
      at->second[i] = is_maximum ? std::max(at->second[i], results[0][i]) : at->second[i] + results[0][i];
    result_[op.outputs[0]] = at->second;
    return;
  }
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    const bool is_cut = !placement(op.outputs[i]).is_replicate();
    if (is_cut != in_loop) fail(op, in_loop ? "is whole and runs in a loop" : "is cut and runs once");
    (is_cut ? cut_ : whole_)[op.outputs[i]] = results[i];
    put_together(op.outputs[i], results[i]);
  }
}

void ScheduledRun::put_together(ValueId v, const Tensor& piece) {
  const Placement& p = placement(v);
  const Tensor part = p.is_shard() ? embedded(piece, p.argument) : piece;
  const bool is_maximum = p == Placement::partial_max();
  Tensor& all = result_.emplace(v, is_maximum ? part : Tensor(part.shape)).first->second;
  for (std::size_t i = 0; i < part.size(); ++i) all[i] = is_maximum ? std::max(all[i], part[i]) : all[i] + part[i];
}

void ScheduledRun::end_loop() {
  cut_.clear();
  whole_.merge(accumulating_);
  accumulating_.clear();
}

/// Pointwise ops may ask for an element's place in the whole tensor, so they are run on all of it.
std::vector<Tensor> ScheduledRun::compute(const Op& op) const {
  std::vector<Tensor> inputs;
  std::vector<Shape> shapes;
  if (!op.kind->has(kPointwise)) {
    for (ValueId v : op.inputs) inputs.push_back(operand(op, v));
    for (ValueId v : op.outputs) shapes.push_back(piece_shape(v));
    return call(op, inputs, shapes);
  }
  for (ValueId v : op.inputs) {
    inputs.push_back(operand(op, v));
    if (placement(v).is_shard()) inputs.back() = embedded(inputs.back(), placement(v).argument);
  }
  for (ValueId v : op.outputs) shapes.push_back(graph_.value(v).shape);
  std::vector<Tensor> results = call(op, inputs, shapes);
  for (std::size_t i = 0; i < results.size(); ++i)
    if (const Placement& p = placement(op.outputs[i]); p.is_shard()) results[i] = piece_of(results[i], p.argument);
  return results;
}

std::vector<Tensor> ScheduledRun::call(const Op& op, const std::vector<Tensor>& inputs,
                                       const std::vector<Shape>& shapes) const {
  Call call{op, {}, {}, {}, seed_, step_};
  for (const Tensor& input : inputs) call.inputs.push_back(&input);
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    call.outputs.emplace_back(shapes[i]);
    call.dtypes.push_back(graph_.value(op.outputs[i]).dtype);
  }
  kernels().at(op.kind->name)(call);
  round_halves(call);
  return std::move(call.outputs);
}

const Placement& ScheduledRun::placement(ValueId v) const {
  static const Placement whole = Placement::replicate();
  const Layout& layout = graph_.value(v).layout;
  return layout.empty() ? whole : layout.back();
}

Tensor ScheduledRun::operand(const Op& op, ValueId v) const {
  const bool source = is_source(*graph_.producer(v));
  const auto& from = source || placement(v).is_replicate() ? whole_ : cut_;
  const auto found = from.find(v);
  if (found == from.end()) fail(op, "operand %" + std::to_string(v) + " is not there");
  return source && placement(v).is_shard() ? piece_of(found->second, placement(v).argument) : found->second;
}

Shape ScheduledRun::piece_shape(ValueId v) const {
  Shape shape = graph_.value(v).shape;
  if (placement(v).is_shard()) shape[static_cast<std::size_t>(placement(v).argument)] /= scheduled_.micro_batches;
  return shape;
}

Tensor ScheduledRun::piece_of(const Tensor& whole, int dim) const {
  const auto d = static_cast<std::size_t>(dim);
  Shape shape = whole.shape;
  shape[d] /= scheduled_.micro_batches;
  Tensor piece(shape);
  for_each(shape, [&](Coordinate at) {
    const Coordinate here = at;
    at[d] += micro_ * shape[d];
    piece.at(here) = whole.at(at);
  });
  return piece;
}

Tensor ScheduledRun::embedded(const Tensor& piece, int dim) const {
  const auto d = static_cast<std::size_t>(dim);
  Shape shape = piece.shape;
  shape[d] *= scheduled_.micro_batches;
  Tensor whole(shape);
  for_each(piece.shape, [&](Coordinate at) {
    const Coordinate here = at;
    at[d] += micro_ * piece.shape[d];
    whole.at(at) = piece.at(here);
  });
  return whole;
}

// --- comparison

ScheduledGraph cut_and_schedule(const Graph& graph, std::int64_t micro_batches,
                                std::vector<PipelineSchedule> pipelines) {
  auto result = scheduled(graph, micro_batches, std::move(pipelines));
  if (!result) throw std::runtime_error(result.error().text());
  return *std::move(result);
}

namespace {

void expect_near(const Tensor& expected, const Tensor& got, const std::string& what) {
  ASSERT_EQ(expected.shape, got.shape) << what;
  for (std::size_t i = 0; i < expected.size(); ++i)
    ASSERT_NEAR(expected[i], got[i], 1e-11 * (1 + std::abs(expected[i]))) << what << "[" << i << "]";
}

}  // namespace

void expect_computes(const ScheduledGraph& scheduled, const Graph& graph, const std::map<std::string, Numbers>& sources,
                     std::uint64_t seed) {
  constexpr std::uint64_t kStep = 3;
  ReferenceInterpreter whole(graph, seed, kStep), passed(scheduled.graph, seed, kStep);
  for (const auto& [name, numbers] : sources)
    for (ReferenceInterpreter* reference : {&whole, &passed}) reference->set(name, numbers);
  whole.run();
  passed.run();
  ScheduledRun run(scheduled, seed, kStep);
  run.run(sources);
  for (OpId id : scheduled.graph.ops())
    for (ValueId v : scheduled.graph.op(id).outputs) {
      const Op& op = scheduled.graph.op(id);
      if (is_source(op)) continue;
      expect_near(passed.value(v), run.result(v), op.kind->name + " `" + op.name + "` %" + std::to_string(v));
      if (testing::Test::HasFatalFailure()) return;  // all that follows would differ too
    }
  for (const GraphOutput& output : graph.outputs())
    expect_near(whole.output(output.name), run.output(output.name), "output " + output.name);
  ASSERT_EQ(whole.assigned().size(), run.assigned().size());
  for (const auto& [name, tensor] : whole.assigned()) expect_near(tensor, run.assigned().at(name), name);
}

void expect_computes(const ScheduledGraph& scheduled, const Graph& graph, std::uint64_t seed) {
  expect_computes(scheduled, graph, random_sources(graph, seed), seed);
}

}  // namespace baleen::test
