/// \file What every data plugin with "baleen.data.ragged/1" must do: lists of unequal length in rows of one shape.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "sample.hpp"

namespace {

using namespace baleen::test;

/// The members whose samples have lists. A new one is named here.
std::vector<std::string> members_with_lists() {
  std::vector<std::string> names;
  for (const std::string& name : built_members("data"))
    if (name == "table") names.push_back(name);
  return names;
}

/// A member with its sample.
struct Opened {
  explicit Opened(const std::string& name) : plugin(built_plugin("data", name)) {
    samples().at(name)(folder, settings);
    data = std::make_unique<DatasetRun>(plugin, settings);
    if (plugin.table.query)
      ragged =
          static_cast<const baleen_data_ragged_t*>(plugin.table.query(data->handle(), baleen::abi(BALEEN_DATA_RAGGED)));
  }
  /// (list, lengths) of each ragged field.
  std::vector<std::pair<std::uint32_t, std::int32_t>> lists() const {
    std::vector<std::pair<std::uint32_t, std::int32_t>> found;
    for (std::uint32_t f = 0; ragged && f < data->info().field_count; ++f)
      if (const std::int32_t at = ragged->length_field(data->handle(), f); at != -1) found.emplace_back(f, at);
    return found;
  }

  PluginUnderTest<baleen_data_t> plugin;
  TemporaryFolder folder;
  TestSettings settings{plugin.descriptor, folder.path(), 11};
  std::unique_ptr<DatasetRun> data;
  const baleen_data_ragged_t* ragged = nullptr;
};

TEST(RaggedOf, NoOtherMember) {
  const std::vector<std::string> known = members_with_lists();
  for (const std::string& name : built_members("data"))
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      EXPECT_TRUE(Opened(name).lists().empty()) << name << " is missing in members_with_lists";
    }
}

class Ragged : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    ASSERT_NE(opened_.ragged, nullptr) << "no " BALEEN_DATA_RAGGED;
    ASSERT_FALSE(opened_.lists().empty());
  }
  const DatasetRun& data() const { return *opened_.data; }
  std::int64_t rows(baleen_split_t part) const { return data().info().rows[part]; }

  const Opened opened_{GetParam()};
};

TEST_P(Ragged, NamesAFieldWithTheLengthsOfEachList) {
  std::set<std::int32_t> taken;
  for (const auto& [list, lengths] : opened_.lists()) {
    ASSERT_GE(lengths, 0);
    ASSERT_LT(lengths, static_cast<std::int32_t>(data().info().field_count));
    EXPECT_TRUE(taken.insert(lengths).second) << "two lists share their lengths";
    EXPECT_GE(data().info().fields[list].rank, 1u);
    EXPECT_EQ(data().info().fields[lengths].dtype, BALEEN_I32);
    EXPECT_EQ(data().info().fields[lengths].rank, 0u);
    EXPECT_EQ(opened_.ragged->length_field(data().handle(), static_cast<std::uint32_t>(lengths)), -1)
        << "lengths are no list";
  }
}

TEST_P(Ragged, HasLengthsThatFitAndZerosBehindTheList) {
  for (const auto& [list, lengths] : opened_.lists()) {
    const std::int64_t most = data().info().fields[list].shape[0];
    const std::size_t element = data().row_bytes(list) / static_cast<std::size_t>(most);
    std::set<std::int32_t> seen;
    for (const baleen_split_t part : {BALEEN_TRAIN, BALEEN_HELD_OUT}) {
      const std::vector<std::string> fields = data().read(part, 0, rows(part));
      const auto counts = data().numbers<std::int32_t>(static_cast<std::size_t>(lengths), part, 0, rows(part));
      for (std::size_t row = 0; row < counts.size(); ++row) {
        ASSERT_GE(counts[row], 0) << "row " << row;
        ASSERT_LE(counts[row], most) << "row " << row;
        seen.insert(counts[row]);
        const std::string behind =
            fields[list].substr(row * data().row_bytes(list) + static_cast<std::size_t>(counts[row]) * element,
                                static_cast<std::size_t>(most - counts[row]) * element);
        EXPECT_EQ(behind, std::string(behind.size(), '\0')) << "row " << row;
      }
    }
    EXPECT_GT(seen.size(), 1u) << "the sample's lists have one length";
  }
}

/// Into buffers that hold something, as those of a batch before do.
TEST_P(Ragged, WritesZerosWhateverStoodThere) {
  const std::int64_t count = rows(BALEEN_TRAIN);
  const std::vector<std::string> expected = data().read(BALEEN_TRAIN, 0, count);
  std::vector<std::string> fields = expected;
  std::vector<void*> buffers;
  for (std::string& field : fields) {
    std::fill(field.begin(), field.end(), '\x5a');
    buffers.push_back(field.data());
  }
  ASSERT_EQ(opened_.plugin.table.read(data().handle(), BALEEN_TRAIN, 0, count, buffers.data()), BALEEN_OK);
  EXPECT_EQ(fields, expected);
}

TEST_P(Ragged, GivesAPositionTheSameListHoweverItIsAskedFor) {
  for (const auto& [list, lengths] : opened_.lists()) {
    const std::vector<std::string> all = data().read(BALEEN_TRAIN, 0, rows(BALEEN_TRAIN));
    for (std::int64_t row = 0; row < rows(BALEEN_TRAIN); row += 7) {
      const std::vector<std::string> one = data().read(BALEEN_TRAIN, row, 1);
      for (const std::size_t field : {static_cast<std::size_t>(list), static_cast<std::size_t>(lengths)}) {
        const std::size_t bytes = data().row_bytes(field);
        EXPECT_EQ(one[field], all[field].substr(static_cast<std::size_t>(row) * bytes, bytes)) << "row " << row;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Members, Ragged, testing::ValuesIn(members_with_lists()),
                         [](const auto& info) { return info.param; });

}  // namespace
