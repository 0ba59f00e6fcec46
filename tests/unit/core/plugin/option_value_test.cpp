/// \file Types, ranges and choices, one option at a time.
#include "core/plugin/option_value.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace baleen {
namespace {

Option option(baleen_option_type_t type) {
  Option out;
  out.name = "x";
  out.type = type;
  return out;
}

std::string checked(const Option& option, UserValue::Data data) {
  const Status status = check_option(option, {std::move(data), "a.toml:1:2"});
  return status ? "ok" : status.error().text();
}

TEST(CheckOption, WantsABooleanForABoolean) {
  EXPECT_EQ(checked(option(BALEEN_OPTION_BOOL), true), "ok");
  EXPECT_EQ(checked(option(BALEEN_OPTION_BOOL), std::int64_t{1}),
            "a.toml:1:2: option `x` takes true or false, not an integer (1)");
}

TEST(CheckOption, TakesWholeNumbersForIntegers) {
  const Option integer = option(BALEEN_OPTION_INT);
  EXPECT_EQ(checked(integer, std::int64_t{5}), "ok");
  EXPECT_EQ(checked(integer, 1000.0), "ok");
  EXPECT_EQ(checked(integer, 0.5), "a.toml:1:2: option `x` takes an integer, not a number (0.5)");
  EXPECT_NE(checked(integer, 1e30), "ok");
  EXPECT_NE(checked(integer, std::numeric_limits<double>::quiet_NaN()), "ok");
  EXPECT_NE(checked(integer, std::string("5")), "ok");
}

TEST(CheckOption, TakesIntegersForNumbers) {
  EXPECT_EQ(checked(option(BALEEN_OPTION_FLOAT), std::int64_t{2}), "ok");
  EXPECT_EQ(checked(option(BALEEN_OPTION_SCHEDULE), 0.25), "ok");
  EXPECT_EQ(checked(option(BALEEN_OPTION_FLOAT), true), "a.toml:1:2: option `x` takes a number, not a boolean (true)");
}

TEST(CheckOption, HoldsTheRange) {
  Option ranged = option(BALEEN_OPTION_FLOAT);
  ranged.minimum = 0;
  ranged.maximum = 1;
  EXPECT_EQ(checked(ranged, 0.0), "ok");
  EXPECT_EQ(checked(ranged, 1.0), "ok");
  EXPECT_EQ(checked(ranged, 1.5), "a.toml:1:2: option `x` must be from 0 to 1, not 1.5");
  EXPECT_NE(checked(ranged, std::numeric_limits<double>::infinity()), "ok");
}

TEST(CheckOption, HoldsTheChoices) {
  Option choice = option(BALEEN_OPTION_STRING);
  choice.choices = {"bytes", "characters"};
  EXPECT_EQ(checked(choice, std::string("bytes")), "ok");
  EXPECT_EQ(checked(choice, std::string("byte")),
            "a.toml:1:2: option `x`: unknown choice `byte`; did you mean `bytes`?");
}

TEST(CheckOption, TakesAPathInPlaceOfAWord) {
  Option path = option(BALEEN_OPTION_STRING);
  path.flags = BALEEN_OPTION_PATH;
  path.choices = {"bytes", "characters"};
  for (const std::string good : {"bytes", "a/b", "./bytes", "words.json", "/bytes"})
    EXPECT_EQ(checked(path, good), "ok");
  EXPECT_EQ(checked(path, std::string("byte")),
            "a.toml:1:2: option `x`: unknown choice `byte`; did you mean `bytes`? (a path has a `/` or a `.` in it)");
}

TEST(CheckOption, TakesAListOnlyWhereManyAreAllowed) {
  Option many = option(BALEEN_OPTION_STRING);
  const std::vector<std::string> list = {"a", "b"};
  for (const UserValue::Data& bare : {UserValue::Data(std::int64_t{3}), UserValue::Data(false)}) {
    const std::string text = UserValue{bare, ""}.text();
    EXPECT_EQ(checked(many, bare),
              "a.toml:1:2: option `x` takes a string; write " + text + " in quotes, as in x = \"" + text + "\"");
  }
  EXPECT_EQ(checked(many, list), "a.toml:1:2: option `x` takes a string, not a list of strings ([\"a\", \"b\"])");
  many.flags = BALEEN_OPTION_MANY;
  EXPECT_EQ(checked(many, list), "ok");
  EXPECT_EQ(checked(many, std::string("a")), "ok");
  EXPECT_NE(checked(many, std::vector<std::string>{"a\nb"}), "ok");
}

TEST(CheckOption, TakesTables) {
  EXPECT_EQ(checked(option(BALEEN_OPTION_TABLE), NumberTable{{1, 2}, 1, 2}), "ok");
  EXPECT_EQ(checked(option(BALEEN_OPTION_TABLE), std::vector<std::string>{}), "ok");
  EXPECT_NE(checked(option(BALEEN_OPTION_TABLE), 1.0), "ok");
}

TEST(ParseOptionText, ReadsEachType) {
  EXPECT_EQ(parse_option_text(option(BALEEN_OPTION_BOOL), "false", "")->data, UserValue::Data(false));
  EXPECT_EQ(parse_option_text(option(BALEEN_OPTION_INT), "-4", "")->data, UserValue::Data(std::int64_t{-4}));
  EXPECT_EQ(parse_option_text(option(BALEEN_OPTION_FLOAT), "1e-3", "")->data, UserValue::Data(1e-3));
  EXPECT_EQ(parse_option_text(option(BALEEN_OPTION_STRING), "1", "")->data, UserValue::Data(std::string("1")));
}

TEST(ParseOptionText, RefusesLeftovers) {
  EXPECT_FALSE(parse_option_text(option(BALEEN_OPTION_INT), "4x", ""));
  EXPECT_FALSE(parse_option_text(option(BALEEN_OPTION_FLOAT), "", ""));
  EXPECT_FALSE(parse_option_text(option(BALEEN_OPTION_BOOL), "yes", ""));
  EXPECT_FALSE(parse_option_text(option(BALEEN_OPTION_TABLE), "1", ""));
}

}  // namespace
}  // namespace baleen
