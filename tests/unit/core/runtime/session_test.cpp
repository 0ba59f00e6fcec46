/// \file A session from its plan to its last record, with the tree's own plugins.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "unit/core/runtime/small_job.hpp"

namespace baleen::test {
namespace {

/// A session, or a failed test.
#define MAKE_RUN(name, ...)   \
  SmallRun name(__VA_ARGS__); \
  ASSERT_TRUE(name.status) << name.status.error().text()

std::vector<double> losses(Session& session, int steps) {
  std::vector<double> result;
  for (int i = 0; i < steps; ++i) {
    auto facts = session.step();
    if (!facts) throw std::runtime_error(facts.error().text());
    result.push_back(facts->at("loss"));
  }
  return result;
}

std::vector<double> parameter(Session& session, const std::string& name) {
  std::vector<double> values(session.persistent().find(name)->bytes / sizeof(double));
  if (Status ok = session.read_tensor(name, values.data(), values.size() * sizeof(double)); !ok)
    throw std::runtime_error(ok.error().text());
  return values;
}

TEST(Session, LearnsAndSaysSo) {
  TemporaryFolder folder;
  MAKE_RUN(run, folder);
  const auto first = run.session->evaluate(4);
  ASSERT_TRUE(first) << first.error().text();
  // Small random logits: every byte is about as likely as every other.
  EXPECT_NEAR(first->at("held_out_loss"), std::log(256.0), 0.3);
  const auto all = losses(*run.session, 60);
  EXPECT_LT(all.back(), 0.75 * all.front());
  const auto last = run.session->evaluate(4);
  ASSERT_TRUE(last);
  EXPECT_LT(last->at("held_out_loss"), 0.75 * first->at("held_out_loss"));
  EXPECT_EQ(run.session->steps_done(), 60);
  EXPECT_EQ(run.session->position(), 60 * 8);
}

TEST(Session, TwoRunsAreTheSameBitForBit) {
  TemporaryFolder folder;
  MAKE_RUN(a, folder);
  MAKE_RUN(b, folder);
  EXPECT_EQ(losses(*a.session, 5), losses(*b.session, 5));
  for (const PersistentBuffer& buffer : a.session->persistent().buffers)
    EXPECT_EQ(parameter(*a.session, buffer.spec.name), parameter(*b.session, buffer.spec.name)) << buffer.spec.name;
}

TEST(Session, MicroBatchesChangeNothing) {
  TemporaryFolder folder;
  MAKE_RUN(whole, folder);
  const auto expected = losses(*whole.session, 6);
  for (std::int64_t accumulate : {2, 4, 8}) {
    SCOPED_TRACE(accumulate);
    MAKE_RUN(cut, folder, {.accumulate = accumulate});
    const auto got = losses(*cut.session, 6);
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-12 * expected[i]);
    const auto p = parameter(*whole.session, "hidden.weight"), q = parameter(*cut.session, "hidden.weight");
    for (std::size_t i = 0; i < p.size(); ++i) EXPECT_NEAR(p[i], q[i], 1e-12);
  }
}

/// The first step, computed by hand from what the session says: p1 - p0 = -lr · g with |g| clipped to 1.
TEST(Session, TheFirstUpdateIsTheClippedGradientTimesTheRate) {
  TemporaryFolder folder;
  MAKE_RUN(run, folder);
  double squares = 0;
  std::map<std::string, std::vector<double>> before;
  for (const char* name : {"embedding.table", "hidden.weight", "head.weight"})
    before[name] = parameter(*run.session, name);
  const auto facts = run.session->step();
  ASSERT_TRUE(facts);
  for (const auto& [name, old] : before) {
    const auto now = parameter(*run.session, name);
    for (std::size_t i = 0; i < old.size(); ++i) squares += (now[i] - old[i]) * (now[i] - old[i]);
  }
  const double norm = std::min(facts->at("gradient_norm"), 1.0);
  EXPECT_EQ(facts->at("lr"), 0.5);
  EXPECT_NEAR(std::sqrt(squares), 0.5 * norm, 1e-5);
}

TEST(Session, PlannedBytesAddUp) {
  TemporaryFolder folder;
  MAKE_RUN(run, folder);
  const auto& planned = run.session->planned_bytes();
  std::uint64_t sum = 0;
  for (const auto& [kind, bytes] : planned)
    if (kind != "total") sum += bytes;
  EXPECT_EQ(sum, planned.at("total"));
  EXPECT_EQ(planned.at("parameters"), 8u * (256 * 6 + 6 * 12 + 12 * 256));
  EXPECT_EQ(planned.at("optimizer"), planned.at("parameters"));
}

TEST(Session, APlanThatDoesNotFitIsRefusedWithWhatWouldHelp) {
  TemporaryFolder folder;
  SmallRun wide(folder, {.memory = "4", .width = 300});
  ASSERT_FALSE(wide.status);
  EXPECT_EQ(wide.status.error().code, BALEEN_NO_MEMORY);
  for (const char* part : {"parameters", "optimizer", "activations", "4.0 MiB", "smaller"})
    EXPECT_NE(wide.status.error().message.find(part), std::string::npos) << part << ": " << wide.status.error().message;
}

TEST(Session, LogitsAreThoseOfTheContext) {
  TemporaryFolder folder;
  MAKE_RUN(run, folder);
  EXPECT_EQ(run.session->context(), 8);
  EXPECT_EQ(run.session->vocabulary(), 256);
  auto a = run.session->logits({1, 2, 3, 4, 5, 6, 7, 8}), b = run.session->logits({1, 2, 3, 4, 5, 6, 7, 9});
  ASSERT_TRUE(a && b);
  ASSERT_EQ(a->size(), 8u * 256);
  // This model looks at one token at a time: only the last row changes.
  EXPECT_TRUE(std::equal(a->begin(), a->end() - 256, b->begin()));
  EXPECT_FALSE(std::equal(a->end() - 256, a->end(), b->end() - 256));
}

TEST(Session, ALossThatIsNotFiniteIsNotedOnce) {
  TemporaryFolder folder;
  MAKE_RUN(run, folder);
  auto poisoned = parameter(*run.session, "hidden.weight");
  poisoned[0] = std::nan("");
  ASSERT_TRUE(run.session->write_tensor("hidden.weight", poisoned.data(), poisoned.size() * sizeof(double)));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(run.session->step());
  const auto lines = run.finish();
  const auto notes = std::count_if(lines.begin(), lines.end(), [](const std::string& line) {
    return line.find("not finite at step 1") != std::string::npos;
  });
  EXPECT_EQ(notes, 1);
}

}  // namespace
}  // namespace baleen::test
