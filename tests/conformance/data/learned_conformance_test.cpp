/// \file What every data plugin with "baleen.data.learned/1" must do: rows mean the same with what they taught before.
#include <gtest/gtest.h>

#include <algorithm>

#include "baleen/data_learned.h"
#include "sample.hpp"

namespace {

using namespace baleen::test;

/// The members that learn. A new one is named here.
std::vector<std::string> members_that_learn() {
  std::vector<std::string> names;
  for (const std::string& name : built_members("data"))
    if (name != "synthetic") names.push_back(name);
  return names;
}

const baleen_data_learned_t* table_of(const PluginUnderTest<baleen_data_t>& plugin, void* dataset) {
  if (!plugin.table.query) return nullptr;
  return static_cast<const baleen_data_learned_t*>(plugin.table.query(dataset, baleen::abi(BALEEN_DATA_LEARNED)));
}

TEST(LearnedBy, NoOtherMember) {
  const std::vector<std::string> known = members_that_learn();
  for (const std::string& name : built_members("data"))
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      const PluginUnderTest<baleen_data_t> plugin(built_plugin("data", name));
      EXPECT_EQ(table_of(plugin, nullptr), nullptr) << name << " is missing in members_that_learn";
    }
}

class Learned : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    samples().at(GetParam())(folder_, settings_);
    data_ = std::make_unique<DatasetRun>(plugin_, settings_);
    table_ = table_of(plugin_, nullptr);
    ASSERT_NE(table_, nullptr) << "no " BALEEN_DATA_LEARNED;
    ASSERT_NE(table_of(plugin_, data_->handle()), nullptr);
  }
  std::string given(void* dataset) const {
    const std::int64_t size = table_->give(dataset, nullptr, 0);
    EXPECT_GT(size, 0);
    std::string text(static_cast<std::size_t>(std::max<std::int64_t>(size, 0)), '?');
    EXPECT_EQ(table_->give(dataset, text.data(), size), size);
    return text;
  }
  /// What `take` makes; null where it refuses.
  void* taken(const std::string& facts, const std::string& source, baleen_learned_use_t use) const {
    void* dataset = nullptr;
    const baleen_status_t status =
        table_->take(plugin_.host->get(), settings_.get(), baleen::abi(facts), baleen::abi(source), use, &dataset);
    EXPECT_EQ(status == BALEEN_OK, dataset != nullptr);
    return dataset;
  }
  std::vector<std::string> read(void* dataset, baleen_split_t split, std::int64_t count) const {
    std::vector<std::string> fields(data_->info().field_count);
    std::vector<void*> buffers;
    for (std::size_t i = 0; i < fields.size(); ++i) {
      fields[i].resize(data_->row_bytes(i) * static_cast<std::size_t>(count));
      buffers.push_back(fields[i].data());
    }
    EXPECT_EQ(plugin_.table.read(dataset, split, 0, count, buffers.data()), BALEEN_OK);
    return fields;
  }

  PluginUnderTest<baleen_data_t> plugin_{built_plugin("data", GetParam())};
  TemporaryFolder folder_;
  TestSettings settings_{plugin_.descriptor, folder_.path(), 11};
  std::unique_ptr<DatasetRun> data_;
  const baleen_data_learned_t* table_ = nullptr;
};

TEST_P(Learned, GivesTheSameRowsToWhoTakesIt) {
  const std::string facts = given(data_->handle());
  EXPECT_EQ(facts.front(), '{');
  void* const again = taken(facts, "", BALEEN_LEARNED_PARTS);
  ASSERT_NE(again, nullptr) << plugin_.host->failure();
  EXPECT_EQ(given(again), facts);
  baleen_dataset_info_t info{};
  info.size = sizeof info;
  ASSERT_EQ(plugin_.table.info(again, &info), BALEEN_OK);
  EXPECT_EQ(info.classes, data_->info().classes);
  for (const baleen_split_t part : {BALEEN_TRAIN, BALEEN_HELD_OUT}) {
    ASSERT_EQ(info.rows[part], data_->info().rows[part]);
    EXPECT_EQ(read(again, part, info.rows[part]), data_->read(part, 0, info.rows[part]));
  }
  plugin_.table.destroy(again);
}

TEST_P(Learned, GivesAllRowsInOneOrderWhereTheyAreAskedFor) {
  for (const baleen_learned_use_t use : {BALEEN_LEARNED_ALL_ROWS, BALEEN_LEARNED_NO_TARGET}) {
    void* const all = taken(given(data_->handle()), "", use);
    ASSERT_NE(all, nullptr) << plugin_.host->failure();
    baleen_dataset_info_t info{};
    info.size = sizeof info;
    ASSERT_EQ(plugin_.table.info(all, &info), BALEEN_OK);
    EXPECT_EQ(info.rows[BALEEN_TRAIN], info.rows[BALEEN_HELD_OUT]);
    EXPECT_GE(info.rows[BALEEN_TRAIN], data_->info().rows[BALEEN_TRAIN] + data_->info().rows[BALEEN_HELD_OUT]);
    EXPECT_EQ(info.field_count, data_->info().field_count);
    EXPECT_EQ(read(all, BALEEN_TRAIN, info.rows[BALEEN_TRAIN]), read(all, BALEEN_HELD_OUT, info.rows[BALEEN_TRAIN]));
    plugin_.table.destroy(all);
  }
}

TEST_P(Learned, RefusesWhatItDidNotGive) {
  for (const std::string facts : {"", "{", "[]", "{}", "null", "{\"features\": 3}"})
    EXPECT_EQ(taken(facts, "", BALEEN_LEARNED_PARTS), nullptr) << facts;
  EXPECT_EQ(taken(given(data_->handle()), "", 7), nullptr);
}

TEST_P(Learned, NamesNoClassThatIsNotThere) {
  EXPECT_EQ(table_->label(data_->handle(), -1, nullptr, 0), 0);
  EXPECT_EQ(table_->label(data_->handle(), data_->info().classes, nullptr, 0), 0);
}

INSTANTIATE_TEST_SUITE_P(Members, Learned, testing::ValuesIn(members_that_learn()),
                         [](const auto& info) { return info.param; });

}  // namespace
