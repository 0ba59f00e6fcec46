/// \file Expressions that come across the ABI: what is refused.
#include "baleen/expression.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace baleen {
namespace {

using Code = std::vector<baleen_instruction_t>;

bool is_whole(const Code& code, std::size_t result = 0, std::size_t inputs = 1, std::size_t rank = 1) {
  const std::int64_t results[] = {static_cast<std::int64_t>(result)};
  return static_cast<bool>(check_expression(code, results, inputs, 1, rank));
}

TEST(CheckExpression, TakesWhatIsWhole) {
  const Code code{{BALEEN_X_INPUT, 0, 0, 0, 0}, {BALEEN_X_NEG, 0, 0, 0, 0}, {BALEEN_X_SELECT, 0, 1, 0, 0}};
  EXPECT_TRUE(is_whole(code, 2));
  EXPECT_TRUE(is_whole({{BALEEN_X_INDEX, 0, 0, 0, 0}}));
}

TEST(CheckExpression, RefusesWhatIsNotThere) {
  const Code input{{BALEEN_X_INPUT, 0, 0, 0, 0}};
  EXPECT_FALSE(is_whole({})) << "no instruction";
  EXPECT_FALSE(is_whole(input, 1)) << "no such result";
  EXPECT_FALSE(is_whole(input, 0, 0)) << "no such input";
  EXPECT_FALSE(is_whole({{BALEEN_X_INDEX, 1, 0, 0, 0}})) << "no such dimension";
  EXPECT_FALSE(is_whole({{BALEEN_X_NEG, 0, 0, 0, 0}})) << "its own operand";
  EXPECT_FALSE(is_whole({input[0], {BALEEN_X_SELECT, 0, 0, 1, 0}})) << "a third operand that comes later";
  EXPECT_FALSE(is_whole({{9999, 0, 0, 0, 0}})) << "no such opcode";
  EXPECT_FALSE(is_whole({input[0], {BALEEN_X_ROUND, 0, 9999, 0, 0}})) << "no such dtype";
  EXPECT_FALSE(is_whole(Code(5000, input[0]))) << "too many";
}

std::string fault(const Code& code, std::int64_t result, std::size_t inputs) {
  const Status status = check_expression(code, std::vector{result}, inputs, 1, 8);
  return status ? "" : status.error().message;
}

TEST(CheckExpression, NamesTheFault) {
  const baleen_instruction_t x{BALEEN_X_INPUT, 0, 0, 0, 0};
  EXPECT_EQ(fault({x, {BALEEN_X_EXP, 0, 0, 0, 0}}, 1, 1), "");
  EXPECT_EQ(fault({{99, 0, 0, 0, 0}}, 0, 0), "instruction 0 (?): unknown opcode 99");
  EXPECT_EQ(fault({x, {BALEEN_X_ADD, 0, 1, 0, 0}}, 1, 1),
            "instruction 1 (add): operand 1 is instruction 1, which does not come before it");
  EXPECT_EQ(fault({x, {BALEEN_X_SELECT, 0, 0, 5, 0}}, 1, 1),
            "instruction 1 (select): operand 2 is instruction 5, which does not come before it");
  EXPECT_EQ(fault({x}, 0, 0), "instruction 0 (input): reads input 0 of 0");
  EXPECT_EQ(fault({x}, 1, 1), "result 1 is none of the 1 instructions");
  EXPECT_EQ(fault({x}, -1, 1), "result -1 is none of the 1 instructions");
  EXPECT_EQ(fault({{BALEEN_X_INDEX, 8, 0, 0, 0}}, 0, 0), "instruction 0 (index): dimension 8; there are at most 8");
  EXPECT_EQ(fault({x, {BALEEN_X_ROUND, 0, BALEEN_I32, 0, 0}}, 1, 1), "instruction 1 (round): 5 is no floating dtype");
  EXPECT_EQ(fault({}, 0, 0), "an expression of 0 instructions and 1 results for 1 outputs");
}

}  // namespace
}  // namespace baleen
