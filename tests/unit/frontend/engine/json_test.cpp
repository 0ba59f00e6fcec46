/// \file Commas, nesting and escapes.
#include "frontend/engine/json.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace baleen::app {
namespace {

TEST(JsonWriter, NestsAndSeparates) {
  JsonWriter json;
  json.begin('{').key("a").begin('[').value(1.0).value("x").begin('{').end('}').end(']').key("b").value(true).end('}');
  EXPECT_EQ(json.text(), R"({"a":[1,"x",{}],"b":true})");
}

TEST(JsonWriter, EscapesText) {
  JsonWriter json;
  json.value("a\"b\\c\n\x01é");
  EXPECT_EQ(json.text(), "\"a\\\"b\\\\c\\u000a\\u0001é\"");
}

TEST(JsonWriter, KnowsNoInfinity) {
  JsonWriter json;
  json.begin('[').value(std::numeric_limits<double>::infinity()).value(0.1).end(']');
  EXPECT_EQ(json.text(), "[null,0.1]");
}

}  // namespace
}  // namespace baleen::app
