/// \file The data plugin `table` with what another table has taught.
#include <gtest/gtest.h>

#include <cmath>

#include "baleen/data_learned.h"
#include "support/dataset_run.hpp"
#include "support/temporary_folder.hpp"

namespace {

using namespace baleen::test;
using Floats = std::vector<float>;
using Ints = std::vector<std::int32_t>;

class TableFacts : public testing::Test {
 protected:
  /// Learns from a table of which no row is held out.
  void learn(const std::string& csv, const std::map<std::string, std::string>& options = {}) {
    settings.set("path", folder.write("a.csv", csv)).set("held_out", 0.0);
    for (const auto& [name, value] : options) settings.set(name, value);
    const DatasetRun data(plugin, settings);
    classes = data.info().classes;
    facts.resize(static_cast<std::size_t>(table().give(data.handle(), nullptr, 0)));
    table().give(data.handle(), facts.data(), static_cast<std::int64_t>(facts.size()));
  }
  const baleen_data_learned_t& table() const {
    return *static_cast<const baleen_data_learned_t*>(plugin.table.query(nullptr, baleen::abi(BALEEN_DATA_LEARNED)));
  }
  /// The features of another table's rows, and their labels where they have some; no features where it is refused.
  Floats take(const std::string& csv, baleen_learned_use_t use = BALEEN_LEARNED_NO_TARGET) {
    void* dataset = nullptr;
    const std::string path = folder.write("b.csv", csv);
    if (table().take(plugin.host->get(), settings.get(), baleen::abi(facts), baleen::abi(path), use, &dataset) !=
        BALEEN_OK)
      return {};
    baleen_dataset_info_t info{};
    info.size = sizeof info;
    EXPECT_EQ(plugin.table.info(dataset, &info), BALEEN_OK);
    EXPECT_EQ(info.classes, classes);
    const auto rows = static_cast<std::size_t>(info.rows[BALEEN_HELD_OUT]);
    Floats features(rows * static_cast<std::size_t>(info.fields[0].shape[0]));
    labels.assign(rows, -1);
    void* buffers[] = {features.data(), labels.data()};
    EXPECT_EQ(plugin.table.read(dataset, BALEEN_HELD_OUT, 0, info.rows[BALEEN_HELD_OUT], buffers), BALEEN_OK);
    plugin.table.destroy(dataset);
    return features;
  }
  void expect_refused(const std::string& csv, const std::string& why,
                      baleen_learned_use_t use = BALEEN_LEARNED_NO_TARGET) {
    EXPECT_EQ(take(csv, use), Floats());
    EXPECT_NE(plugin.host->failure().find(why), std::string::npos) << plugin.host->failure();
  }

  PluginUnderTest<baleen_data_t> plugin{built_plugin("data", "table")};
  TemporaryFolder folder;
  TestSettings settings{plugin.descriptor, folder.path(), 5};
  std::string facts;
  std::int64_t classes = 0;
  Ints labels;
};

TEST_F(TableFacts, ShiftAndScaleOneRowAsManyWere) {
  learn("x,y\n1,u\n3,v\n5,u\n7,v\n", {{"normalize", "true"}});
  EXPECT_EQ(take("x\n9\n"), (Floats{static_cast<float>((9 - 4) / std::sqrt(5.0))}));
  EXPECT_EQ(labels, Ints{0}) << "there is no label";
}

TEST_F(TableFacts, FindColumnsByTheirNames) {
  learn("x,z,y\n1,10,u\n3,30,v\n");
  EXPECT_EQ(take("more,z,x,y\nq,2,1,v\nq,4,3,u\n", BALEEN_LEARNED_ALL_ROWS), (Floats{1, 2, 3, 4}));
  EXPECT_EQ(labels, (Ints{1, 0}));
  expect_refused("x,y\n1,v\n", "no column `z`");
  expect_refused("x,z\n1,2\n", "no column `y`", BALEEN_LEARNED_ALL_ROWS);
  expect_refused("X,Z\n1,2\n", "no column `x`; the first row, `X`, `Z`, is taken for data, so the columns are 1 to 2");
  expect_refused("1,2\n", "no column `x`; the columns are `1`, `2`, or 1 to 2");
}

TEST_F(TableFacts, FindAHeaderByTheNamesThatTheyKnow) {
  learn("colour,y\nred,1\nblue,2\n");
  EXPECT_EQ(take("colour\nred\n"), (Floats{0, 1})) << "no field of it is a number";
}

TEST_F(TableFacts, KeepCategoriesThatLookLikeNumbers) {
  learn("size,y\n1,u\n2,v\nlarge,u\n");
  EXPECT_EQ(take("size\n2\n1\n"), (Floats{0, 1, 0, 1, 0, 0}));
  expect_refused("size\n3\n", "b.csv:2: `3` is no category of column `size` that was there in training; there were 3");
}

TEST_F(TableFacts, RefuseTextWhereNumbersWere) {
  learn("x,y\n1,u\n3,v\n");
  expect_refused("x\n1\nmany\n", "column `x` held numbers in training, and here `many`");
}

TEST_F(TableFacts, FillWhatIsMissingWithWhatWasUsualInTraining) {
  learn("x,colour,y\n1,red,u\n3,red,v\n,blue,u\n", {{"missing", "mean"}});
  EXPECT_EQ(take("x,colour\n,\n10,blue\n"), (Floats{2, 0, 1, 10, 1, 0}));
}

TEST_F(TableFacts, MarkWhatIsMissingWhereSomethingWasInTraining) {
  learn("x,colour,y\n1,red,u\n,,v\n", {{"missing", "category"}});
  EXPECT_EQ(take("x,colour\n5,red\n,\n"), (Floats{5, 0, 1, 0, 1, 1, 0, 1}));
  learn("x,colour,y\n1,red,u\n3,blue,v\n", {{"missing", "category"}});
  EXPECT_EQ(take("x,colour\n,\n"), (Floats{2, 1, 0})) << "nothing was missing then, so nothing marks it";
}

TEST_F(TableFacts, KnowClassesThatAreNumbers) {
  learn("x,y\n1,0.1\n2,0.30000000000000004\n3,7\n");
  EXPECT_EQ(take("x,y\n5,7\n6,0.30000000000000004\n", BALEEN_LEARNED_ALL_ROWS), (Floats{5, 6}));
  EXPECT_EQ(labels, (Ints{2, 1}));
  expect_refused("x,y\n5,0.3\n", "b.csv:2: column `y` holds a class that was not there in training",
                 BALEEN_LEARNED_ALL_ROWS);
}

TEST_F(TableFacts, AreOfTheirTask) {
  learn("x,y\n1,2\n2,4\n");
  settings.set("task", "regress");
  expect_refused("x,y\n1,2\n", "the job has `task` = \"regress\", and what is loaded was trained with the other one");
}

}  // namespace
