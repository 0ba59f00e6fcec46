/// \file How values read in messages.
#include "core/input/user_value.hpp"

#include <gtest/gtest.h>

namespace baleen {
namespace {

std::string text(UserValue::Data data) { return UserValue{std::move(data), ""}.text(); }

TEST(UserValue, IsShownAsAUserWouldWriteIt) {
  EXPECT_EQ(text(true), "true");
  EXPECT_EQ(text(std::int64_t{-3}), "-3");
  EXPECT_EQ(text(0.1), "0.1");
  EXPECT_EQ(text(std::string("a b")), "\"a b\"");
  EXPECT_EQ(text(NumberTable{{1, 2.5}, 1, 2}), "[1, 2.5]");
  EXPECT_EQ(text(NumberTable{{1, 2, 3, 4}, 2, 2}), "[[1, 2], [3, 4]]");
  EXPECT_EQ(text(std::vector<std::string>{"a", "b"}), "[\"a\", \"b\"]");
}

TEST(UserValue, NamesItsType) {
  EXPECT_EQ((UserValue{0.5, ""}).type(), "a number");
  EXPECT_EQ((UserValue{std::int64_t{5}, ""}).type(), "an integer");
  EXPECT_EQ((UserValue{std::vector<std::string>{}, ""}).type(), "a list of strings");
}

}  // namespace
}  // namespace baleen
