/// \file The data plugin `table`: what columns become.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "support/dataset_run.hpp"
#include "support/temporary_folder.hpp"

namespace {

using namespace baleen::test;
using Floats = std::vector<float>;
using Ints = std::vector<std::int32_t>;

class TableData : public testing::Test {
 protected:
  PluginUnderTest<baleen_data_t> plugin{built_plugin("data", "table")};
  TemporaryFolder folder;
  TestSettings settings{plugin.descriptor, folder.path(), 5};

  /// Rows of the train part in the file's order.
  void use(const std::string& csv, double held_out = 0) {
    settings.set("path", folder.write("t.csv", csv)).set("shuffle", "false").set("held_out", held_out);
  }
  Floats features(const DatasetRun& data) const {
    return data.numbers<float>(0, BALEEN_TRAIN, 0, data.info().rows[BALEEN_TRAIN]);
  }
  Ints labels(const DatasetRun& data) const {
    return data.numbers<std::int32_t>(1, BALEEN_TRAIN, 0, data.info().rows[BALEEN_TRAIN]);
  }
};

TEST_F(TableData, EncodesNumbersCategoriesAndLabels) {
  use("size,colour,kind\n1.5,red,dog\n-2,blue,cat\n3e1,red,emu\n");
  DatasetRun data(plugin, settings);
  EXPECT_EQ(features(data), (Floats{1.5F, 0, 1, -2, 1, 0, 30, 0, 1}));
  EXPECT_EQ(labels(data), (Ints{1, 0, 2}));
  EXPECT_EQ(data.info().classes, 3);
  EXPECT_STREQ(data.info().summary, "t.csv: 3 train, 0 held-out rows; 3 features, 3 classes: cat, dog, emu");
}

TEST_F(TableData, FindsOutWhetherThereIsAHeader) {
  use("1,2,0\n3,4,1\n");
  EXPECT_EQ(DatasetRun(plugin, settings).info().rows[BALEEN_TRAIN], 2);
  use("a,b,c\n3,4,1\n");
  EXPECT_EQ(DatasetRun(plugin, settings).info().rows[BALEEN_TRAIN], 1);
  use("a,b,c\nd,e,f\n");
  EXPECT_EQ(DatasetRun(plugin, settings).info().rows[BALEEN_TRAIN], 2);
  settings.set("header", "true");
  EXPECT_EQ(DatasetRun(plugin, settings).info().rows[BALEEN_TRAIN], 1);
}

TEST_F(TableData, ChoosesLabelAndFeaturesByNameOrNumber) {
  use("a,b,c\n1,2,30\n4,5,60\n");
  settings.set("label", "a").set("features", "c\n2");
  DatasetRun data(plugin, settings);
  EXPECT_EQ(features(data), (Floats{30, 2, 60, 5}));
  EXPECT_EQ(labels(data), (Ints{0, 1}));
}

TEST_F(TableData, OrdersNumericClassesAsNumbers) {
  use("x,y\n1,10\n2,9\n3,-1\n4,10\n");
  DatasetRun data(plugin, settings);
  EXPECT_EQ(labels(data), (Ints{2, 1, 0, 2}));
  EXPECT_STREQ(data.info().summary, "t.csv: 4 train, 0 held-out rows; 1 feature, 3 classes: -1, 9, 10");
}

TEST_F(TableData, RegressesNumbers) {
  use("x,y\n1,0.25\n2,-7\n");
  settings.set("task", "regress");
  DatasetRun data(plugin, settings);
  EXPECT_EQ(data.info().fields[1].dtype, BALEEN_F32);
  EXPECT_EQ(data.info().classes, 0);
  EXPECT_EQ(data.numbers<float>(1, BALEEN_TRAIN, 0, 2), (Floats{0.25F, -7}));
}

TEST_F(TableData, NormalizesByTheTrainPartAlone) {
  std::string csv = "x,c,y\n";
  for (int i = 0; i < 100; ++i) csv += std::to_string(i * i) + ",7," + std::to_string(i % 2) + "\n";
  use(csv, 0.3);
  settings.set("normalize", "true");
  DatasetRun data(plugin, settings);
  double sum = 0, squares = 0;
  const auto train = features(data);
  ASSERT_EQ(train.size(), 140u);
  for (std::size_t i = 0; i < train.size(); i += 2) {
    sum += train[i];
    squares += train[i] * train[i];
    EXPECT_EQ(train[i + 1], 0) << "a constant column";
  }
  EXPECT_NEAR(sum / 70, 0, 1e-6);
  EXPECT_NEAR(squares / 70, 1, 1e-6);
}

TEST_F(TableData, FillsMissingFields) {
  const std::string csv = "n,c,y\n1,a,0\n?,b,1\n3,,0\n8,b,1\n";
  use(csv);
  settings.set("missing", "mean");
  EXPECT_EQ(features(DatasetRun(plugin, settings)), (Floats{1, 1, 0, 4, 0, 1, 3, 0, 1, 8, 0, 1}));
  settings.set("missing", "category");
  EXPECT_EQ(features(DatasetRun(plugin, settings)),
            (Floats{1, 0, 1, 0, 0, 4, 1, 0, 1, 0, 3, 0, 0, 0, 1, 8, 0, 0, 1, 0}));
}

TEST_F(TableData, UnderstandsQuotesBlanksAndLineEnds) {
  use("\xef\xbb\xbfname, text ,y\r\n1,\"a, \"\"b\"\"\nc\",0\r\n\r\n2 , d ,1");
  DatasetRun data(plugin, settings);
  EXPECT_EQ(features(data), (Floats{1, 1, 0, 2, 0, 1}));
  settings.set("features", "text");
  EXPECT_EQ(features(DatasetRun(plugin, settings)), (Floats{1, 0, 0, 1}));
}

TEST_F(TableData, UnderstandsLinesThatEndInCrAlone) {
  use("name,text,y\r1,\"a\rb\",0\r\r2,d,1\r");
  DatasetRun data(plugin, settings);
  EXPECT_EQ(features(data), (Floats{1, 1, 0, 2, 0, 1}));
}

TEST_F(TableData, TakesOtherSeparators) {
  use("1;2,5;0\n3;x;1\n");
  settings.set("separator", "semicolon");
  EXPECT_EQ(features(DatasetRun(plugin, settings)), (Floats{1, 1, 0, 3, 0, 1}));
  use("1\t\"2\"\t0\n3\t4\t1\n");
  settings.set("separator", "tab");
  EXPECT_EQ(features(DatasetRun(plugin, settings)), (Floats{1, 2, 3, 4}));
}

TEST_F(TableData, TakesArrays) {
  settings.set_table("rows", {0, 0, 0, 0, 1, 1, 1, 0, 1, 1, 1, 0}, 3).set("shuffle", "false").set("held_out", 0.0);
  DatasetRun data(plugin, settings);
  EXPECT_EQ(features(data), (Floats{0, 0, 0, 1, 1, 0, 1, 1}));
  EXPECT_EQ(labels(data), (Ints{0, 1, 1, 0}));
  settings.set("label", "1");
  EXPECT_EQ(labels(DatasetRun(plugin, settings)), (Ints{0, 0, 1, 1}));
}

TEST_F(TableData, ShowsEveryRowOfTheFileInExactlyOnePart) {
  std::string csv = "x,y\n";
  for (int i = 0; i < 50; ++i) csv += std::to_string(i) + "," + std::to_string(i % 2) + "\n";
  use(csv, 0.2);
  settings.set("shuffle", "true");
  DatasetRun data(plugin, settings);
  for (std::int64_t epoch = 0; epoch < 2; ++epoch) {
    Floats all = data.numbers<float>(0, BALEEN_TRAIN, 40 * epoch, 40);
    const Floats held_out = data.numbers<float>(0, BALEEN_HELD_OUT, 0, 10);
    all.insert(all.end(), held_out.begin(), held_out.end());
    std::sort(all.begin(), all.end());
    for (std::size_t i = 0; i < 50; ++i) EXPECT_EQ(all[i], static_cast<float>(i));
  }
}

}  // namespace
