/// \file Numbers and texts that JSON has no form for.
#include "frontend/engine/json.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace baleen::app {
namespace {

TEST(Json, KeepsTheOrderOfKeys) {
  Json json = {{"z", 1}, {"a", true}};
  json["m"] = Json::array({"x"});
  EXPECT_EQ(json_text(json), R"({"z":1,"a":true,"m":["x"]})");
}

TEST(Json, EscapesText) {
  EXPECT_EQ(json_text("a\"b\\c\n\x01"
                      "é"),
            R"("a\"b\\c\n\u0001é")");
}

TEST(Json, ReplacesWhatIsNotUtf8) {
  EXPECT_EQ(json_text(Json{{"a\xff", "b\xc3"}}), "{\"a\xef\xbf\xbd\":\"b\xef\xbf\xbd\"}");
}

TEST(Json, WritesWholeNumbersWithoutAPoint) {
  EXPECT_EQ(json_text(json_number(1.0)), "1");
  EXPECT_EQ(json_text(json_number(-3.0)), "-3");
  EXPECT_EQ(json_text(json_number(9007199254740991.0)), "9007199254740991");
  EXPECT_EQ(json_text(json_number(0.1)), "0.1");
  EXPECT_EQ(json_text(json_number(1e300)), "1e+300");
}

TEST(Json, KnowsNoInfinity) {
  for (const double number : {std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(),
                              std::numeric_limits<double>::quiet_NaN()})
    EXPECT_EQ(json_text(json_number(number)), "null");
}

}  // namespace
}  // namespace baleen::app
