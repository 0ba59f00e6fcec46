/// \file Sessions of several ranks in one process: threads over the reference transport, and over shared memory.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>

#include "support/ranks.hpp"
#include "unit/core/runtime/small_job.hpp"

namespace baleen::test {
namespace {

/// What a run came to on one rank.
struct Outcome {
  std::vector<double> losses;
  std::vector<std::vector<double>> parameters;
  std::vector<double> together = {}, alone = {};  ///< logits of the named programs
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

template <class Number>
std::vector<double> whole(const SmallRun& run, const PersistentSpec& spec) {
  std::vector<Number> values(static_cast<std::size_t>(element_count(spec.type.shape)));
  const Status read = run.session->read_tensor(spec.name, values.data(), values.size() * sizeof(Number));
  if (!read) throw std::runtime_error(read.error().text());
  return {values.begin(), values.end()};
}

Outcome outcome_of(SmallRun& run, int steps) {
  if (!run.status) throw std::runtime_error(run.status.error().text());
  Outcome outcome;
  for (int i = 0; i < steps; ++i) {
    const auto facts = run.session->step();
    if (!facts) throw std::runtime_error(facts.error().text());
    outcome.losses.push_back(facts->at("loss"));
  }
  std::vector<double> tokens(40);
  for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<double>(7 * i % 100);
  for (auto& [name, logits] : {std::pair("together", &outcome.together), std::pair("alone", &outcome.alone)}) {
    const auto made = run.session->run(name, {{"tokens", *tensor_of(tokens, BALEEN_I32, {5, 8})}});
    if (!made) throw std::runtime_error(made.error().text());
    *logits = numbers_of(made->at("logits"));
  }
  for (const PersistentBuffer& buffer : run.session->persistent().buffers) {
    const bool single = buffer.spec.type.dtype == BALEEN_F32;
    outcome.parameters.push_back(single ? whole<float>(run, buffer.spec) : whole<double>(run, buffer.spec));
  }
  return outcome;
}

/// The same job on `ranks` threads, of which the first two are on a host; an outcome per rank.
std::vector<Outcome> on_ranks(std::int32_t ranks, const std::string& transport, JobOptions options, int steps) {
  SharedRendezvous rendezvous("aab");
  std::vector<Outcome> outcomes(static_cast<std::size_t>(ranks));
  const std::string failures = run_bodies(As::kThreads, ranks, [&](std::int32_t rank) {
    const TemporaryFolder folder;
    const baleen_rendezvous_t own = rendezvous.of(rank, ranks);
    JobOptions mine = options;
    mine.transport = transport;
    mine.rendezvous = &own;
    SmallRun run(folder, mine);
    outcomes[static_cast<std::size_t>(rank)] = outcome_of(run, steps);
  });
  EXPECT_EQ(failures, "");
  return outcomes;
}

Outcome on_one(const JobOptions& options, int steps) {
  const TemporaryFolder folder;
  SmallRun run(folder, options);
  return outcome_of(run, steps);
}

void expect_near(const Outcome& a, const Outcome& b) {
  ASSERT_EQ(a.losses.size(), b.losses.size());
  for (std::size_t i = 0; i < a.losses.size(); ++i)
    EXPECT_NEAR(a.losses[i], b.losses[i], 1e-10 * std::abs(b.losses[i]));
  // Programs are divided as training is, or computed by every rank: the numbers are those of one rank.
  ASSERT_EQ(a.together.size(), b.together.size());
  for (std::size_t i = 0; i < b.together.size(); ++i) {
    ASSERT_NEAR(a.together[i], b.together[i], 1e-9) << i;
    ASSERT_NEAR(a.alone[i], b.together[i], 1e-9) << i;
  }
  for (std::size_t p = 0; p < b.parameters.size(); ++p) {
    double difference = 0, norm = 0;
    for (std::size_t i = 0; i < b.parameters[p].size(); ++i) {
      difference += std::pow(a.parameters[p][i] - b.parameters[p][i], 2);
      norm += std::pow(b.parameters[p][i], 2);
    }
    const double limit = 1e-8 * std::sqrt(norm) + 1e-12 * std::sqrt(static_cast<double>(b.parameters[p].size()));
    EXPECT_LE(std::sqrt(difference), limit);
  }
}

TEST(Ranks, ComputeWhatOneRankComputes) {
  for (const std::int64_t accumulate : {1, 2}) {
    JobOptions options;
    options.accumulate = accumulate;
    const Outcome one = on_one(options, 6);
    for (const std::int32_t ranks : {2, 3}) {
      const auto many = on_ranks(ranks, "loopback", options, 6);
      for (const Outcome& outcome : many) EXPECT_EQ(outcome, many[0]);  // every rank has the same bits
      expect_near(many[0], one);
    }
  }
}

TEST(Ranks, AreAlikeInSinglePrecision) {
  JobOptions options;
  options.dtype = BALEEN_F32;
  options.accumulate = 2;
  const Outcome one = on_one(options, 4);
  const auto many = on_ranks(3, "loopback", options, 4);
  for (const Outcome& outcome : many) EXPECT_EQ(outcome, many[0]);
  EXPECT_NEAR(many[0].losses[0], one.losses[0], 1e-6 * one.losses[0]);
  EXPECT_NEAR(many[0].losses[3], one.losses[3], 1e-4 * one.losses[3]);
}

MemberSpec strategy(const std::string& name, UserValues options) { return {name, std::move(options), {}, "test"}; }

/// ZeRO-3: parameters and states are stored in shards, gathered for use, and read as wholes.
TEST(Ranks, KeepModelStatesInShards) {
  if (!has_plugin("strategy", "zero")) GTEST_SKIP() << "no strategy `zero` in this tree";
  for (const std::int64_t accumulate : {1, 2}) {
    JobOptions options;
    options.accumulate = accumulate;
    const Outcome one = on_one(options, 6);
    options.strategies = {strategy("zero", {{"stage", {std::int64_t{3}, "test"}}, {"bucket_mb", {0.001, "test"}}})};
    for (const std::int32_t ranks : {2, 3}) {
      const auto many = on_ranks(ranks, "loopback", options, 6);
      for (const Outcome& outcome : many) EXPECT_EQ(outcome, many[0]);
      expect_near(many[0], one);
      EXPECT_EQ(on_ranks(ranks, "shm", options, 6), many);
    }
  }
}

/// Without training, parameters lie as training would have them.
TEST(Ranks, RunProgramsOfShardsAlone) {
  JobOptions options;
  options.only = GraphRole::infer;
  const Outcome one = on_one(options, 0);
  EXPECT_EQ(one.parameters.size(), 3u) << "no states";
  options.strategies = {strategy("zero", {{"stage", {std::int64_t{3}, "test"}}})};
  const auto many = on_ranks(2, "loopback", options, 0);
  for (const Outcome& outcome : many) EXPECT_EQ(outcome, many[0]);
  expect_near(many[0], one);
}

/// Sums are the same tree on every transport, so a job is the same bits.
TEST(Ranks, ComputeTheSameOverEveryTransport) {
  JobOptions options;
  options.dtype = BALEEN_F32;
  options.accumulate = 2;
  options.bucket_mb = 0.001;
  for (const std::int32_t ranks : {2, 3}) {
    const auto reference = on_ranks(ranks, "loopback", options, 6);
    for (const std::string& transport : built_members("transport")) {
      if (transport == "nccl") continue;  // needs devices: tests/parity/cuda compares it
      EXPECT_EQ(on_ranks(ranks, transport, options, 6), reference) << transport << ", " << ranks << " ranks";
    }
  }
}

/// Products on a square and on a cube of ranks; in sizes that they do not divide.
TEST(Ranks, MultiplyOnGrids) {
  if (!has_plugin("strategy", "tensor")) GTEST_SKIP() << "no strategy `tensor` in this tree";
  for (const std::int64_t accumulate : {1, 2}) {
    JobOptions options;
    options.accumulate = accumulate;
    options.width = 13;
    const Outcome one = on_one(options, 4);
    for (const auto& [mode, ranks] : {std::pair{"2d", 4}, std::pair{"3d", 8}}) {
      options.mesh.axes = {{"tensor", ranks}};
      options.strategies = {strategy("tensor", {{"mode", {std::string(mode), "test"}}})};
      const auto many = on_ranks(ranks, "loopback", options, 4);
      for (const Outcome& outcome : many) EXPECT_EQ(outcome, many[0]);
      expect_near(many[0], one);
    }
  }
}

/// Stages on threads: each has its own order of micro-batches, sends to its neighbours alone, and asks ahead for what
/// it receives.
TEST(Ranks, TakeTurnsInAPipeline) {
  if (!has_plugin("strategy", "pipeline")) GTEST_SKIP() << "no strategy `pipeline` in this tree";
  JobOptions options;
  options.accumulate = 4;
  const Outcome one = on_one(options, 4);
  for (const std::string schedule : {"1f1b", "gpipe", "zero_bubble"})
    for (const std::int32_t ranks : {2, 3}) {
      options.strategies = {strategy("pipeline", {{"schedule", {schedule, "test"}}})};
      options.mesh.axes = {{"pipeline", ranks}};
      const auto many = on_ranks(ranks, "loopback", options, 4);
      for (const Outcome& outcome : many) EXPECT_EQ(outcome, many[0]);
      expect_near(many[0], one);
      EXPECT_EQ(on_ranks(ranks, "shm", options, 4), many);
    }
}

/// Stages begin unequally many, and are compared by numbers that are the same again behind every run.
TEST(Ranks, CountCollectivesAlikeInAPipeline) {
  if (!has_plugin("strategy", "pipeline")) GTEST_SKIP() << "no strategy `pipeline` in this tree";
  JobOptions options;
  options.accumulate = 4;
  options.strategies = {strategy("pipeline", {})};
  options.mesh.axes = {{"pipeline", 3}};
  SharedRendezvous rendezvous("aab");
  std::array<std::vector<std::int64_t>, 3> numbers;
  const std::string failures = run_bodies(As::kThreads, 3, [&](std::int32_t rank) {
    const TemporaryFolder folder;
    const baleen_rendezvous_t own = rendezvous.of(rank, 3);
    JobOptions mine = options;
    mine.transport = "loopback";
    mine.rendezvous = &own;
    mine.begins = [&](std::int64_t number) { numbers[static_cast<std::size_t>(rank)].push_back(number); };
    SmallRun run(folder, mine);
    (void)outcome_of(run, 2);
  });
  EXPECT_EQ(failures, "");
  for (const auto& own : numbers) {
    EXPECT_TRUE(std::is_sorted(own.begin(), own.end()));
    ASSERT_FALSE(own.empty());
    EXPECT_EQ(own.back(), numbers[0].back());
  }
  EXPECT_NE(numbers[0].size(), numbers[1].size());  // the second stage sends and receives on both sides
}

TEST(Ranks, BucketsAndTransportsChangeNoBit) {
  JobOptions options;
  const auto whole = on_ranks(3, "loopback", options, 4);
  options.bucket_mb = 0;
  EXPECT_EQ(on_ranks(3, "loopback", options, 4), whole);
  options.bucket_mb = 0.001;
  EXPECT_EQ(on_ranks(3, "shm", options, 4), whole);
}

TEST(Ranks, SendWhatTheFormulaSays) {
  SharedRendezvous rendezvous;
  EXPECT_EQ(run_bodies(As::kThreads, 2,
                       [&](std::int32_t rank) {
                         const TemporaryFolder folder;
                         const baleen_rendezvous_t own = rendezvous.of(rank, 2);
                         JobOptions options;
                         options.transport = "loopback";
                         options.rendezvous = &own;
                         SmallRun run(folder, options);
                         if (!run.status) throw std::runtime_error(run.status.error().text());
                         std::uint64_t gradients =
                             0;  // 2 (n - 1) / n of every gradient, and of the loss and its weight
                         for (const PersistentBuffer& buffer : run.session->persistent().buffers)
                           if (buffer.spec.role == Role::parameter) gradients += buffer.bytes;
                         const std::vector<Traffic> traffic = run.session->traffic();
                         expect(traffic.size() == 1 && traffic[0].kind == "all_reduce" && traffic[0].axes == "data",
                                "one kind");
                         expect(traffic[0].bytes == gradients + 2 * sizeof(double), std::to_string(traffic[0].bytes));
                       }),
            "");
}

}  // namespace
}  // namespace baleen::test
