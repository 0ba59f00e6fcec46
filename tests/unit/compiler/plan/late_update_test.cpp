/// \file Updates that are a step late: what they compute, beside formulas by hand, and where in a step they stand.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "compiler/graph/graph.hpp"
#include "support/reference_interpreter.hpp"
#include "unit/compiler/plan/scheduled_run.hpp"
#include "unit/compiler/plan/small_jobs.hpp"

namespace baleen::test {
namespace {

constexpr std::size_t kBatch = 6;

/// Of affine_job: y = x·w + b, loss Σ y² / n.
struct Affine {
  Numbers weight, bias;

  Affine gradient(const Numbers& x) const {
    Affine g{Numbers(12, 0), Numbers(4, 0)};
    for (std::size_t n = 0; n < kBatch; ++n)
      for (std::size_t o = 0; o < 4; ++o) {
        double y = bias[o];
        for (std::size_t i = 0; i < 3; ++i) y += x[3 * n + i] * weight[4 * i + o];
        const double d = 2 * y / static_cast<double>(kBatch);
        g.bias[o] += d;
        for (std::size_t i = 0; i < 3; ++i) g.weight[4 * i + o] += x[3 * n + i] * d;
      }
    return g;
  }
  double norm() const {
    double squares = 0;
    for (const Numbers* numbers : {&weight, &bias})
      for (const double one : *numbers) squares += one * one;
    return std::sqrt(squares);
  }
  void add(const Affine& other, double factor) {
    for (std::size_t i = 0; i < weight.size(); ++i) weight[i] += factor * other.weight[i];
    for (std::size_t i = 0; i < bias.size(); ++i) bias[i] += factor * other.bias[i];
  }
};

void expect_near(const Numbers& expected, const Numbers& got, const std::string& what) {
  ASSERT_EQ(expected.size(), got.size()) << what;
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(expected[i], got[i], 1e-12) << what << " " << i;
}

double rate_of(std::int64_t step) { return 0.1 / static_cast<double>(step + 1); }

/// Steps by the reference interpreter, each from what the step before assigned.
class Steps {
 public:
  explicit Steps(Job job) {
    auto made = train_graph(std::move(job));
    if (!made) throw std::runtime_error(made.error().text());
    made_ = *std::move(made);
    held_ = random_sources(made_.graph, 3);
    for (std::size_t i = 0; i < made_.update.states.size(); ++i)
      held_[made_.update.states[i].name].assign(
          static_cast<std::size_t>(element_count(made_.update.states[i].type.shape)), made_.update.initial[i]);
  }

  void step(const Numbers& x) {
    held_["x"] = x;
    for (const ScalarSpec& scalar : made_.update.scalars) held_[scalar.name] = {scalar.schedule(done_)};
    ReferenceInterpreter run(made_.graph);
    for (const auto& [name, numbers] : held_) run.set(name, numbers);
    run.run();
    for (const auto& [name, tensor] : run.assigned()) held_[name] = tensor.data;
    ++done_;
  }
  const Numbers& operator[](const std::string& name) const { return held_.at(name); }
  const TrainGraph& made() const { return made_; }

 private:
  TrainGraph made_;
  std::map<std::string, Numbers> held_;
  std::int64_t done_ = 0;
};

Job late_affine_job(double clip) {
  Job job = affine_job(static_cast<std::int64_t>(kBatch));
  job.is_late = true;
  job.clip_grad_norm = clip;
  job.optimizer.schedules["lr"] = rate_of;
  return job;
}

/// The rate, the factor of clipping and the count are those of the update that is made.
TEST(LateUpdate, IsThatOfTheStepBefore) {
  for (const double clip : {0.0, 0.5}) {
    Steps steps(late_affine_job(clip));
    Affine now{steps["up.weight"], steps["up.bias"]};
    std::optional<Affine> pending;
    for (int i = 0; i < 5; ++i) {
      Numbers x;
      for (std::size_t k = 0; k < 3 * kBatch; ++k) x.push_back(std::sin(static_cast<double>(k) + 7.0 * i));
      const Affine gradient = now.gradient(x);
      steps.step(x);
      if (pending) {
        const double factor = clip > 0 ? std::min(clip / (pending->norm() + 1e-6), 1.0) : 1;
        now.add(*pending, -rate_of(i - 1) * factor);
      }
      const std::string what = "after step " + std::to_string(i + 1) + ", clipped to " + std::to_string(clip);
      expect_near(now.weight, steps["up.weight"], what);
      expect_near(now.bias, steps["up.bias"], what);
      expect_near(gradient.weight, steps["up.weight.late_gradient"], what);
      EXPECT_EQ(steps["optimizer.updates"][0], i) << what;
      pending = gradient;
    }
  }
}

TEST(LateUpdate, IsAskedForByTheJobAlone) {
  Job job = affine_job(static_cast<std::int64_t>(kBatch));
  const Steps steps(std::move(job));
  for (const PersistentSpec& state : steps.made().update.states)
    EXPECT_EQ(state.name.find("late"), std::string::npos) << state.name;
}

/// By phase: how many ops of the update stand in the backward pass.
std::ptrdiff_t early_ops(const ScheduledGraph& scheduled) {
  std::ptrdiff_t count = 0;
  for (const Section& section : scheduled.sections)
    if (section.phase == Phase::backward)
      count +=
          std::ranges::count_if(section.ops, [&](OpId id) { return scheduled.graph.op(id).phase == Phase::update; });
  return count;
}

bool assigns(const Op& op) { return op.kind->name == "assign"; }

/// What a section reads of a value, itself or as a view, stands before what makes the new one.
void expect_read_before(const ScheduledGraph& scheduled, ValueId old, std::size_t section, std::size_t maker) {
  const Graph& graph = scheduled.graph;
  for (std::size_t s = 0; s < scheduled.sections.size(); ++s)
    for (std::size_t i = 0; i < scheduled.sections[s].ops.size(); ++i) {
      const Op& reader = graph.op(scheduled.sections[s].ops[i]);
      if (assigns(reader) || std::ranges::find(reader.inputs, old) == reader.inputs.end()) continue;
      EXPECT_LE(std::pair(s, i), std::pair(section, maker)) << reader.name << " reads " << graph.value(old).name;
      if (reader.kind->has(kView)) expect_read_before(scheduled, reader.outputs[0], section, maker);
    }
}

TEST(LateUpdate, RunsInTheBackwardPassBehindWhatReadsTheOldValues) {
  Job job = gpt_job(4);
  job.is_late = true;
  job.clip_grad_norm = 1;
  auto made = train_graph(std::move(job));
  ASSERT_TRUE(made) << made.error().text();
  ScheduledGraph scheduled = cut_and_schedule(made->graph, 1);
  EXPECT_EQ(early_ops(scheduled), 0);
  advance_updates(scheduled);
  EXPECT_GT(early_ops(scheduled), 0);
  expect_computes(scheduled, made->graph);
  std::set<std::string> early, late;  // new values of parameters
  for (std::size_t s = 0; s < scheduled.sections.size(); ++s)
    for (const OpId id : scheduled.sections[s].ops) {
      const Op& assign = scheduled.graph.op(id);
      if (!assigns(assign) || scheduled.graph.value(assign.inputs[0]).role != Role::parameter) continue;
      const OpId maker = scheduled.graph.value(assign.inputs[1]).producer;
      for (std::size_t at = 0; at < scheduled.sections.size(); ++at) {
        const auto& ops = scheduled.sections[at].ops;
        const auto place = std::ranges::find(ops, maker);
        if (place == ops.end()) continue;
        const bool is_early = scheduled.sections[at].phase == Phase::backward;
        (is_early ? early : late).insert(scheduled.graph.value(assign.inputs[0]).name);
        if (is_early)
          expect_read_before(scheduled, assign.inputs[0], at, static_cast<std::size_t>(place - ops.begin()));
      }
    }
  EXPECT_GT(early.size(), 3u);
  EXPECT_TRUE(late.empty()) << *late.begin();
}

TEST(LateUpdate, StaysBehindALoopAndIsNotConfusedWithOthers) {
  for (const auto& [is_late, micro_batches] : {std::pair(true, 2), std::pair(false, 1)}) {
    Job job = gpt_job(4);
    job.is_late = is_late;
    job.clip_grad_norm = 1;
    auto made = train_graph(std::move(job));
    ASSERT_TRUE(made) << made.error().text();
    ScheduledGraph scheduled = cut_and_schedule(made->graph, micro_batches);
    advance_updates(scheduled);
    EXPECT_EQ(early_ops(scheduled), 0) << micro_batches;
    expect_computes(scheduled, made->graph);
  }
}

/// A gradient that waits for the next step is squared where it is made: it need not be got once more for the norm.
TEST(LateUpdate, SquaresGradientsWhereTheyAreMade) {
  Job job = affine_job(4);
  job.is_late = true;
  auto made = train_graph(std::move(job));
  ASSERT_TRUE(made) << made.error().text();
  ScheduledGraph scheduled = cut_and_schedule(made->graph, 1);
  advance_updates(scheduled);
  expect_computes(scheduled, made->graph);
  const Graph& graph = scheduled.graph;
  std::ptrdiff_t sums = 0;
  for (const Section& section : scheduled.sections)
    for (std::size_t i = 0; i < section.ops.size(); ++i) {
      const Op& sum = graph.op(section.ops[i]);
      if (sum.phase != Phase::update || sum.kind->name != "reduce") continue;
      ++sums;
      EXPECT_EQ(section.phase, Phase::backward) << sum.name;
      ASSERT_GE(i, 2u);
      const Op& square = graph.op(section.ops[i - 1]);
      EXPECT_EQ(square.outputs[0], sum.inputs[0]);
      EXPECT_EQ(graph.op(section.ops[i - 2]).outputs[0], square.inputs[0]) << "right behind what makes it";
    }
  EXPECT_EQ(sums, 2);
}

}  // namespace
}  // namespace baleen::test
