/// \file Bits of what a training finds its rows by: the reader's place, the plugin's order, the runs of programs.
#include "frontend/engine/data_check.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "frontend/engine/copy_check.hpp"
#include "frontend/engine/job_facts.hpp"
#include "frontend/engine/line_difference.hpp"
#include "frontend/engine/memory_check.hpp"
#include "unit/core/launch/sample.hpp"
#include "unit/core/runtime/small_job.hpp"
#include "unit/frontend/engine/own_memory.hpp"

namespace baleen::app {
namespace {

constexpr std::uint64_t kDataSeed = 0xDA7A'5EED'0BAD'CAFEULL;

class DataCheckTest : public SampleTest {
 protected:
  std::unique_ptr<test::SmallRun> run(test::JobOptions options = {}, InstructionWatch* watch = nullptr) {
    options.data_seed = kDataSeed;
    options.watch = watch;
    auto made = std::make_unique<test::SmallRun>(folder_, options);
    EXPECT_TRUE(made->status) << made->status.error().text();
    return made;
  }
  const test::TemporaryFolder folder_;
};

/// The order of rows, as the plugin keeps it.
TEST_F(DataCheckTest, FindsEveryBitOfAPluginsSeed) {
  const auto made = run();
  DataCheck check(*made->session, 2);
  check.before_step();
  const test::OwnMemory memory;
  const std::vector<off_t> places = memory.places_of(kDataSeed);
  for (std::uint64_t bit = 0; bit < 64; ++bit) {
    ASSERT_GT(memory.turn_in(places, kDataSeed, bit), 0) << "nobody has the seed";
    const Status found = check.compare();
    memory.turn_in(places, kDataSeed ^ std::uint64_t{1} << bit, bit);
    ASSERT_FALSE(found) << bit;
    EXPECT_EQ(found.error().code, BALEEN_DAMAGED);
    EXPECT_TRUE(
        found.error().message.starts_with("the data set gives other rows to train on than it gave before the "
                                          "first step, found after step 0. "))
        << found.error().message;
    EXPECT_TRUE(check.compare());
  }
}

/// What one plugin reads in another order has the same content.
TEST_F(DataCheckTest, RanksCompareTheOrderOfRows) {
  const auto lines_with = [&](std::uint64_t seed) {
    test::JobOptions options;
    options.data_seed = seed;
    const test::SmallRun made(folder_, options);
    EXPECT_TRUE(made.status) << made.status.error().text();
    const Dataset& data = *made.session->data();
    return data_lines(data, *digest_of_data(data));
  };
  const std::string one = lines_with(kDataSeed), two = lines_with(kDataSeed + 1);
  EXPECT_EQ(one, lines_with(kDataSeed));
  const auto differ = first_difference(one, two);
  ASSERT_TRUE(differ);
  EXPECT_TRUE(differ->one.starts_with("the digest of its first rows, as they are read, is ")) << differ->one;
}

TEST_F(DataCheckTest, LooksAfterEveryNthStep) {
  const auto made = run();
  Session& session = *made->session;
  const test::OwnMemory memory;
  const std::vector<off_t> places = memory.places_of(kDataSeed);
  DataCheck check(session, 2), never(session, 0);
  for (int step = 1; step <= 4; ++step) {
    for (DataCheck* one : {&check, &never}) one->before_step();
    ASSERT_TRUE(session.step());
    const int turned = step == 3 ? memory.turn_in(places, kDataSeed, 0) : 1;
    ASSERT_GT(turned, 0);
    EXPECT_EQ(static_cast<bool>(check.after_step()), step < 4) << step;
    EXPECT_TRUE(never.after_step());
  }
  memory.turn_in(places, kDataSeed ^ 1, 0);
}

/// What the thread that reads ahead goes by, and what the session does, are two numbers.
TEST_F(DataCheckTest, OtherRowsThanComeNextAreNotTrainedOn) {
  const auto made = run();
  BatchReader reader(made->session->data(), 8, {{0, 2}, {4, 6}}, BALEEN_F32, 16);
  ASSERT_TRUE(reader.next(16));
  ASSERT_TRUE(reader.next(24));
  const auto batch = reader.next(40);
  ASSERT_FALSE(batch);
  EXPECT_EQ(batch.error().code, BALEEN_DAMAGED);
  EXPECT_TRUE(batch.error().message.starts_with(
      "rows 32 to 33, 36 to 37 of the data were read where 40 to 41, 44 to 45 come next. Memory has lost a bit"))
      << batch.error().message;
}

HostTensors some_rows() {
  const HostTensor ids{BALEEN_I32, {8, 8}, std::vector<std::byte>(8 * 8 * sizeof(std::int32_t), std::byte{})};
  return {{"tokens", ids}, {"targets", ids}};
}

TEST_F(DataCheckTest, RunsOfProgramsAreCompared) {
  constexpr std::int64_t kRuns = 0x0BAD'5EED'1234'5678LL;
  test::JobOptions options;
  options.learns = true;
  MemoryCheck check;
  const auto made = run(options, &check);
  Session& session = *made->session;
  ASSERT_TRUE(session.resume(0, 0, {{"more", kRuns}}));
  check.attach(session);
  ASSERT_TRUE(session.step());
  const test::OwnMemory memory;
  int found = 0;
  for (const off_t place : memory.places_of(kRuns)) {
    if (memory.turn_in({&place, 1}, kRuns, 3) == 0) continue;
    const Status status = check.begins_step();
    memory.turn_in({&place, 1}, kRuns ^ 1 << 3, 3);
    if (status) continue;
    ++found;
    EXPECT_TRUE(
        status.error().message.starts_with("the number of runs of program `more` is no longer what it was, "
                                           "found in step 2. "))
        << status.error().message;
  }
  EXPECT_EQ(found, 1);
}

/// Where a process has a count, each bit of it.
TEST(Count, LosesNoBitUnseen) {
  Count count = 41;
  count.add(2), count.add(-1);
  EXPECT_EQ(count, 42);
  for (std::size_t bit = 0; bit < 8 * sizeof count; ++bit) {
    auto* const byte = reinterpret_cast<unsigned char*>(&count) + bit / 8;
    *byte = static_cast<unsigned char>(*byte ^ (1u << (bit % 8)));
    EXPECT_FALSE(count.is_right()) << bit;
    *byte = static_cast<unsigned char>(*byte ^ (1u << (bit % 8)));
    EXPECT_TRUE(count.is_right()) << bit;
  }
}

/// Ranks are compared in where they are: one of them repeats rows, or has run a program more often.
TEST_F(DataCheckTest, RanksAtOtherRowsAreNamed) {
  test::JobOptions options;
  options.learns = true;
  const auto first = run(options), second = run(options);
  ASSERT_TRUE(second->session->resume(0, 8, {{"more", 2}}));
  const Mesh mesh{{{"data", 2}}};
  const auto zero = sample_link(0), one = sample_link(1);
  CopyCheck told(*second->session, *one, mesh, {1}, 1, "cpu"), asks(*first->session, *zero, mesh, {0}, 1, "cpu");
  for (const auto* made : {&first, &second}) {
    const auto outputs = (*made)->session->run("more", some_rows());
    ASSERT_TRUE(outputs) << outputs.error().text();
    ASSERT_TRUE((*made)->session->step());
  }
  EXPECT_FALSE(told.after_step());  // which comes first, and finds nobody
  const Status found = asks.after_step();
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, BALEEN_DAMAGED);
  EXPECT_TRUE(found.error().message.starts_with(
      "rank 1 is at row 16 of the data, run 3 of `more` after step 1 where rank 0 is at row 8 of the data, run 1 of "
      "`more`, so they do not train on the rows of one batch"))
      << found.error().message;
}

}  // namespace
}  // namespace baleen::app
