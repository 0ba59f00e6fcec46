/// \file What every data plugin must do: rows are a pure function of seed and position.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <thread>

#include "sample.hpp"

namespace {

using namespace baleen::test;

class Data : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    ASSERT_TRUE(samples().contains(GetParam())) << "tests/conformance/data/sample.hpp has no sample for this member";
    samples().at(GetParam())(folder, settings);
  }
  std::int64_t rows(const DatasetRun& data, baleen_split_t split) const { return data.info().rows[split]; }

  PluginUnderTest<baleen_data_t> plugin{built_plugin("data", member_of(GetParam()))};
  TemporaryFolder folder;
  TestSettings settings{plugin.descriptor, folder.path(), 11};
};

TEST_P(Data, DescribesItselfAndItsRows) {
  EXPECT_STREQ(plugin.descriptor.kind, "data");
  EXPECT_EQ(plugin.descriptor.name, member_of(GetParam()));
  DatasetRun data(plugin, settings);
  const auto& info = data.info();
  ASSERT_GE(info.field_count, 1u);
  ASSERT_LE(info.field_count, static_cast<std::uint32_t>(BALEEN_MAX_FIELDS));
  std::set<std::string> names;
  for (std::uint32_t i = 0; i < info.field_count; ++i) {
    const auto& field = info.fields[i];
    EXPECT_TRUE(names.insert(field.name).second) << field.name;
    EXPECT_TRUE(field.dtype == BALEEN_F32 || field.dtype == BALEEN_I32 || field.dtype == BALEEN_I64 ||
                field.dtype == BALEEN_U8)
        << field.name;
    for (std::uint32_t d = 0; d < field.rank; ++d) EXPECT_GT(field.shape[d], 0) << field.name;
  }
  EXPECT_GT(rows(data, BALEEN_TRAIN), 1);
  EXPECT_GT(rows(data, BALEEN_HELD_OUT), 1);
  EXPECT_GT(info.units_per_row, 0);
  EXPECT_NE(info.unit[0], 0);
  EXPECT_NE(info.summary[0], 0);
}

TEST_P(Data, GivesTheSameRowsAgain) {
  DatasetRun first(plugin, settings), second(plugin, settings);
  const std::int64_t count = 2 * rows(first, BALEEN_TRAIN) + 3;
  EXPECT_EQ(first.rows(BALEEN_TRAIN, 0, count), second.rows(BALEEN_TRAIN, 0, count));
  EXPECT_EQ(first.rows(BALEEN_TRAIN, 0, count), first.rows(BALEEN_TRAIN, 0, count));
}

TEST_P(Data, GivesTheSameRowsHoweverTheyAreAskedFor) {
  DatasetRun data(plugin, settings);
  const std::int64_t count = 2 * rows(data, BALEEN_TRAIN) + 3;
  const auto whole = data.rows(BALEEN_TRAIN, 0, count);
  std::vector<std::string> pieces;
  for (std::int64_t first = 0, size = 1; first < count; first += size, size = size % 7 + 1) {
    size = std::min(size, count - first);
    for (auto& row : data.rows(BALEEN_TRAIN, first, size)) pieces.push_back(std::move(row));
  }
  EXPECT_EQ(pieces, whole);
}

TEST_P(Data, ShowsEveryRowOnceInAnEpoch) {
  DatasetRun data(plugin, settings);
  const std::int64_t count = rows(data, BALEEN_TRAIN);
  for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
    const auto seen = data.rows(BALEEN_TRAIN, epoch * count, count);
    EXPECT_EQ(std::ssize(std::set<std::string>(seen.begin(), seen.end())), count) << "epoch " << epoch;
  }
}

TEST_P(Data, DrawsAnotherOrderForEachEpochAndSeed) {
  DatasetRun data(plugin, settings);
  const std::int64_t count = rows(data, BALEEN_TRAIN);
  EXPECT_NE(data.rows(BALEEN_TRAIN, 0, count), data.rows(BALEEN_TRAIN, count, count));
  settings.seed(12);
  DatasetRun other(plugin, settings);
  EXPECT_NE(data.rows(BALEEN_TRAIN, 0, count), other.rows(BALEEN_TRAIN, 0, count));
}

TEST_P(Data, KeepsTheHeldOutPartInOneOrderWhateverTheSeed) {
  DatasetRun data(plugin, settings);
  const std::int64_t count = rows(data, BALEEN_HELD_OUT);
  const auto epoch = data.rows(BALEEN_HELD_OUT, 0, count);
  EXPECT_EQ(data.rows(BALEEN_HELD_OUT, count, count), epoch);
  settings.seed(12);
  EXPECT_EQ(DatasetRun(plugin, settings).rows(BALEEN_HELD_OUT, 0, count), epoch);
  EXPECT_EQ(std::ssize(std::set<std::string>(epoch.begin(), epoch.end())), count);
}

TEST_P(Data, KeepsThePartsApart) {
  DatasetRun data(plugin, settings);
  const auto train = data.rows(BALEEN_TRAIN, 0, 3 * rows(data, BALEEN_TRAIN));
  const std::set<std::string> trained(train.begin(), train.end());
  for (const auto& row : data.rows(BALEEN_HELD_OUT, 0, rows(data, BALEEN_HELD_OUT)))
    EXPECT_FALSE(trained.contains(row));
}

/// The order of rows is the seed's, the content is not.
TEST_P(Data, HasADigestOfItsContent) {
  const DatasetRun first(plugin, settings);
  const auto found = plugin.table.query ? plugin.table.query(first.handle(), baleen::abi(BALEEN_DATA_DIGEST)) : nullptr;
  if (!found) return;  // ranks compare some of its rows
  const auto& table = *static_cast<const baleen_data_digest_t*>(found);
  ASSERT_GE(table.size, sizeof table);
  const auto digest = [&](const DatasetRun& data) {
    std::uint64_t number = 0;
    EXPECT_EQ(table.digest(data.handle(), &number), BALEEN_OK);
    return number;
  };
  const std::uint64_t one = digest(first);
  settings.seed(12);
  EXPECT_EQ(digest(DatasetRun(plugin, settings)), one);
}

TEST_P(Data, ReadsFromSeveralThreads) {
  DatasetRun data(plugin, settings);
  constexpr std::int64_t kThreads = 4, kRows = 50;
  const auto expected = data.rows(BALEEN_TRAIN, 0, kThreads * kRows);
  std::vector<std::vector<std::string>> parts(kThreads);
  {
    std::vector<std::jthread> threads;
    for (std::int64_t t = 0; t < kThreads; ++t)
      threads.emplace_back([&, t] { parts[static_cast<std::size_t>(t)] = data.rows(BALEEN_TRAIN, t * kRows, kRows); });
  }
  std::vector<std::string> together;
  for (const auto& part : parts) together.insert(together.end(), part.begin(), part.end());
  EXPECT_EQ(together, expected);
}

// Position p is row p % rows of epoch p / rows, for every p. An epoch far ahead has rows that other epochs have too,
// each once, in an order of its own, which is not that of a number cut short.
TEST_P(Data, ReachesPositionsFarAhead) {
  DatasetRun data(plugin, settings);
  const std::int64_t count = rows(data, BALEEN_TRAIN), ahead = (std::int64_t{1} << 40) + 7, epoch = ahead / count;
  const auto of_epoch = [&](std::int64_t number) { return data.rows(BALEEN_TRAIN, number * count, count); };
  constexpr std::int64_t kEpochs =
      300;  // a member may cut its rows anew in each; these show all ways to cut the sample
  const auto near = data.rows(BALEEN_TRAIN, 0, kEpochs * count);
  const std::set<std::string> known(near.begin(), near.end());
  const auto far = of_epoch(epoch);
  EXPECT_EQ(std::ssize(std::set<std::string>(far.begin(), far.end())), count);
  EXPECT_TRUE(std::all_of(far.begin(), far.end(), [&](const std::string& row) { return known.contains(row); }));
  for (const std::int64_t other : {std::int64_t{0}, epoch - 1, epoch & 0x7fffffff})
    EXPECT_TRUE(far != of_epoch(other)) << "epoch " << other;
  EXPECT_TRUE(far != data.rows(BALEEN_TRAIN, (epoch * count) & 0x7fffffff, count));
  EXPECT_TRUE(data.rows(BALEEN_TRAIN, epoch * count + 1, 1).front() == far[1]);

  const std::int64_t held_out = rows(data, BALEEN_HELD_OUT), turn = ahead / held_out * held_out;
  EXPECT_EQ(data.rows(BALEEN_HELD_OUT, turn + 1, held_out), data.rows(BALEEN_HELD_OUT, 1, held_out));
}

TEST_P(Data, RefusesPositionsThatAreNone) {
  DatasetRun data(plugin, settings);
  void* buffers[BALEEN_MAX_FIELDS] = {};
  EXPECT_NE(plugin.table.read(data.handle(), BALEEN_TRAIN, -1, 1, buffers), BALEEN_OK);
  EXPECT_FALSE(plugin.host->failure().empty());
  EXPECT_NE(plugin.table.read(data.handle(), 2, 0, 1, buffers), BALEEN_OK);
  EXPECT_EQ(plugin.table.read(data.handle(), BALEEN_TRAIN, 0, 0, buffers), BALEEN_OK);
}

TEST_P(Data, AnswersNoToAnUnknownInterface) {
  DatasetRun data(plugin, settings);
  if (plugin.table.query) {  // without it, the answer is no
    EXPECT_EQ(plugin.table.query(data.handle(), baleen::abi("baleen.data.nonsense/9")), nullptr);
  }
}

INSTANTIATE_TEST_SUITE_P(Members, Data, testing::ValuesIn(samples_of(built_members("data"))),
                         [](const auto& info) { return case_name(info.param); });

}  // namespace
