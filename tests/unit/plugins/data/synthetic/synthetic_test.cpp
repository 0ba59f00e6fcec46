/// \file The data plugin `synthetic`: fields as described, numbers as spread as is said, and what is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "support/dataset_run.hpp"
#include "support/temporary_folder.hpp"

namespace {

using namespace baleen::test;

class SyntheticData : public testing::Test {
 protected:
  PluginUnderTest<baleen_data_t> plugin{built_plugin("data", "synthetic")};
  TemporaryFolder folder;
  TestSettings settings{plugin.descriptor, folder.path(), 5};
  std::string failure() { return failure_of(plugin, settings); }
  std::string failure_of_field(const std::string& field) {
    settings.set("fields", field);
    return failure();
  }
};

TEST_F(SyntheticData, TokensFollowEachOtherButForTheNoise) {
  settings.set("context", 32).set("vocab", 101).set("rows", 500).set("noise", 0.25);
  DatasetRun data(plugin, settings);
  EXPECT_EQ(data.info().classes, 101);
  EXPECT_EQ(data.info().units_per_row, 32);
  EXPECT_STREQ(data.info().unit, "tokens");
  EXPECT_STREQ(data.info().fields[0].axes[0], "seq");
  const auto tokens = data.numbers<std::int32_t>(0, BALEEN_TRAIN, 0, 500);
  const auto targets = data.numbers<std::int32_t>(1, BALEEN_TRAIN, 0, 500);
  int foretold = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    ASSERT_TRUE(tokens[i] >= 0 && tokens[i] < 101);
    if (i % 32 != 31) {
      ASSERT_EQ(targets[i], tokens[i + 1]);
    }
    foretold += targets[i] == (5 * tokens[i] + 1) % 101;
  }
  // 16,000 tosses: a deviation of 0.0034. One of 101 is right by chance.
  EXPECT_NEAR(foretold / 16000.0, 0.75 + 0.25 / 101, 0.02);
}

TEST_F(SyntheticData, FeaturesTellTheClass) {
  settings.set("features", 40).set("classes", 3).set("rows", 3000).set("noise", 0.0);
  DatasetRun data(plugin, settings);
  const auto features = data.numbers<float>(0, BALEEN_TRAIN, 0, 3000);
  const auto labels = data.numbers<std::int32_t>(1, BALEEN_TRAIN, 0, 3000);
  std::vector<std::vector<double>> mean(3, std::vector<double>(40));
  std::vector<double> rows(3);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    ASSERT_TRUE(labels[i] >= 0 && labels[i] < 3);
    ++rows[static_cast<std::size_t>(labels[i])];
    for (std::size_t f = 0; f < 40; ++f) mean[static_cast<std::size_t>(labels[i])][f] += features[40 * i + f];
  }
  std::set<std::vector<bool>> signs;
  for (std::size_t c = 0; c < 3; ++c) {
    EXPECT_NEAR(rows[c] / 3000, 1.0 / 3, 0.05);
    std::vector<bool> up;
    for (double sum : mean[c]) {
      EXPECT_NEAR(std::abs(sum / rows[c]), 1, 0.2);
      up.push_back(sum > 0);
    }
    signs.insert(up);
  }
  EXPECT_EQ(signs.size(), 3u) << "classes differ";
}

TEST_F(SyntheticData, LabelsWithoutClassesAreNumbersThatFeaturesTell) {
  settings.set("features", 4).set("rows", 50).set("noise", 0.0);
  DatasetRun data(plugin, settings);
  EXPECT_EQ(data.info().fields[1].dtype, BALEEN_F32);
  EXPECT_EQ(data.info().classes, 0);
  const auto features = data.numbers<float>(0, BALEEN_TRAIN, 0, 50);
  const auto labels = data.numbers<float>(1, BALEEN_TRAIN, 0, 50);
  // One choice of signs of the four must explain all rows.
  int explanations = 0;
  for (int signs = 0; signs < 16; ++signs) {
    bool all = true;
    for (std::size_t i = 0; i < 50; ++i) {
      double sum = 0;
      for (std::size_t f = 0; f < 4; ++f) sum += (signs >> f & 1 ? 1 : -1) * double{features[4 * i + f]};
      all = all && std::abs(labels[i] - sum / 8) < 1e-5;
    }
    explanations += all;
  }
  EXPECT_EQ(explanations, 1);
}

TEST_F(SyntheticData, OtherFieldsAreAsDescribed) {
  settings.set("fields", "image f32 3 x height=20 x 5\nids i64 6 < 9000000000\npixels u8 7\nmark i32<5");
  settings.set("rows", 400);
  DatasetRun data(plugin, settings);
  const baleen_dataset_info_t& info = data.info();
  ASSERT_EQ(info.field_count, 4u);
  EXPECT_EQ(info.fields[0].rank, 3u);
  EXPECT_EQ(info.fields[0].shape[1], 20);
  EXPECT_STREQ(info.fields[0].axes[1], "height");
  EXPECT_STREQ(info.fields[0].axes[0], "");
  EXPECT_EQ(info.fields[3].rank, 0u);
  EXPECT_EQ(info.classes, 9000000000);
  const auto image = data.numbers<float>(0, BALEEN_TRAIN, 0, 400);
  double sum = 0, squares = 0;
  for (const float x : image) sum += x, squares += double{x} * x;
  const auto count = static_cast<double>(image.size());  // 120,000: deviations of 0.003 and 0.004
  EXPECT_NEAR(sum / count, 0, 0.02);
  EXPECT_NEAR(squares / count, 1, 0.03);
  const auto ids = data.numbers<std::int64_t>(1, BALEEN_TRAIN, 0, 400);
  EXPECT_GE(std::ranges::min(ids), 0);
  EXPECT_LT(std::ranges::max(ids), 9000000000);
  EXPECT_GT(std::ranges::max(ids), 8000000000);
  const auto marks = data.numbers<std::int32_t>(3, BALEEN_TRAIN, 0, 400);
  EXPECT_EQ(std::set(marks.begin(), marks.end()), (std::set{0, 1, 2, 3, 4}));
}

TEST_F(SyntheticData, SplitsAndRowsDiffer) {
  settings.set("features", 8).set("rows", 100).set("held_out", 100).set("shuffle", "false");
  DatasetRun data(plugin, settings);
  std::set<std::string> rows;
  for (const baleen_split_t split : {BALEEN_TRAIN, BALEEN_HELD_OUT})
    for (const std::string& row : data.rows(split, 0, 100)) rows.insert(row);
  EXPECT_EQ(rows.size(), 200u);
  EXPECT_EQ(data.rows(BALEEN_TRAIN, 0, 100), data.rows(BALEEN_TRAIN, 100, 100)) << "without shuffling epochs are alike";
}

TEST_F(SyntheticData, NamesWhatIsWrong) {
  EXPECT_EQ(failure(), "synthetic: say what a row has: `context` and `vocab`, `features`, or `fields`");
  settings.set("context", 8);
  EXPECT_EQ(failure(), "synthetic: `context` and `vocab` are given both, or neither");
  settings.set("context", 0.0).set("classes", 3);
  EXPECT_EQ(failure(), "synthetic: `classes` are those of the label beside `features`");
  settings.set("features", 3).set("classes", 1);
  EXPECT_EQ(failure(), "synthetic: one class is nothing to tell apart; `classes` is 0 or at least 2");
  settings.set("classes", 2);
  EXPECT_EQ(failure_of_field("label i32 < 3"), "synthetic: there are two fields `label`; call one otherwise");
}

TEST_F(SyntheticData, NamesTheFieldThatItCannotRead) {
  const auto says = [&](const std::string& field, const std::string& why) {
    const std::string text = failure_of_field(field);
    EXPECT_TRUE(text.starts_with("`fields`: \"" + field + "\": " + why + "; a field is NAME DTYPE")) << text;
  };
  says("image", "it needs a name and a dtype");
  says("3d f32", "`3d` is no name, of at most 31 letters, digits and _");
  says("image fp32 3", "`fp32` is none of f32, i32, i64, u8");
  says("image f32 3 x 0", "`0` is no extent");
  says("image f32 3 x", "between extents stands `x`");
  says("image f32 3 4", "between extents stands `x`");
  says("image f32 1 x 1 x 1 x 1 x 1 x 1 x 1 x 1 x 1", "it has more than 8 dimensions");
  says("image f32 2000000 x 2000000", "a row has more than 2^40 elements");
  says("image f32 a_very_long_name_of=3", "`a_very_long_name_of` is no name of an axis, of at most 15 letters");
  says("image f32 3 < 4", "f32 has no bound: its numbers have mean 0 and deviation 1");
  says("label i32", "whole numbers need one bound, as in `< 1000`");
  says("label i32 < 0", "whole numbers need one bound, as in `< 1000`");
  says("pixel u8 < 300", "a bound of u8 is at most 256");
}

}  // namespace
