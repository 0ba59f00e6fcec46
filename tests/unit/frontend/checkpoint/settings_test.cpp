/// \file What users say of checkpoints, right and wrong.
#include "frontend/checkpoint/settings.hpp"

#include <gtest/gtest.h>

namespace baleen::test {
namespace {

std::string refusal(const UserValues& values) {
  const auto read = read_checkpoint_settings(values, "train.lua:3");
  return read ? "" : read.error().text();
}

TEST(CheckpointSettings, TakeWhatIsSaid) {
  const auto read = read_checkpoint_settings({{"folder", {std::string("here"), "a:1"}},
                                              {"every", {std::int64_t{200}, "a:2"}},
                                              {"minutes", {1.5, "a:3"}},
                                              {"keep", {std::int64_t{7}, "a:4"}},
                                              {"best", {true, "a:5"}},
                                              {"memory_mb", {std::int64_t{3}, "a:6"}},
                                              {"grace", {std::int64_t{90}, "a:7"}}},
                                             "a");
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->folder, "here");
  EXPECT_EQ(read->every, 200);
  EXPECT_EQ(read->minutes, 1.5);
  EXPECT_EQ(read->keep, 7);
  EXPECT_TRUE(read->best);
  EXPECT_EQ(read->memory_bytes, 3u << 20);
  EXPECT_EQ(read->grace_seconds, 90);
}

TEST(CheckpointSettings, RefuseWithThePlaceAndTheNearestWord) {
  EXPECT_EQ(refusal({{"evry", {std::int64_t{1}, "a.toml:2:1"}}}),
            "a.toml:2:1: checkpoint: unknown option `evry`; did you mean `every`?");
  EXPECT_EQ(refusal({{"every", {std::int64_t{-1}, "a.toml:2:1"}}}),
            "a.toml:2:1: checkpoint: option `every` must be from 0 to 1e+12, not -1");
  EXPECT_EQ(refusal({{"best", {std::string("yes"), "a.toml:2:1"}}}).substr(0, 37),
            "a.toml:2:1: checkpoint: option `best`");
  EXPECT_EQ(refusal({{"folder", {std::string(), "a.toml:2:1"}}}), "a.toml:2:1: checkpoint: `folder` is empty");
  EXPECT_EQ(refusal({{"folder", {std::string("/root/~/x"), "a.toml:2:1"}}}),
            "a.toml:2:1: checkpoint: `folder` has the shell's `~` in it, which means nothing here; write the path out");
}

}  // namespace
}  // namespace baleen::test
