/// \file Tables as a user writes and reads them, and what is wrong with them.
#include "text.hpp"

#include <gtest/gtest.h>

namespace baleen::pipeline {
namespace {

Table table_of(const std::vector<std::string>& lines, std::uint32_t micro_batches, std::uint32_t chunks = 1) {
  Table table{{static_cast<std::uint32_t>(lines.size()), micro_batches, chunks}, Order::round, {}};
  for (const std::string& line : lines) {
    const auto actions = parse_actions(line);
    EXPECT_TRUE(actions) << actions.error().message;
    table.ranks.push_back(actions ? *actions : Actions());
  }
  return table;
}

std::string line_of(const Table& table, std::size_t rank) {
  std::string line;
  for (const Action& action : table.ranks[rank]) line += (line.empty() ? "" : " ") + to_text(action, table);
  return line;
}

TEST(TableText, IsReadAsItIsWritten) {
  for (const Kind kind : {Kind::one_forward_one_backward, Kind::zero_bubble_h1, Kind::zero_bubble_h2}) {
    const Table table = *make_table(kind, {3, 7, 1});
    const Table again = table_of({line_of(table, 0), line_of(table, 1), line_of(table, 2)}, 7);
    for (std::size_t rank = 0; rank < 3; ++rank) EXPECT_EQ(line_of(again, rank), line_of(table, rank));
  }
  EXPECT_EQ(line_of(*make_table(Kind::one_forward_one_backward, {2, 3, 1}), 0), "F0 F1 B0 F2 B1 B2");
  EXPECT_EQ(line_of(*make_table(Kind::interleaved, {2, 2, 2}), 1), "F0.0 F1.0 F0.1 B0.1 F1.1 B1.1 B0.0 B1.0");
  EXPECT_EQ(line_of(table_of({"F0,B0  W0"}, 1), 0), "F0 B0 W0");
}

TEST(TableText, RefusesOtherWords) {
  for (const char* word : {"G0", "F", "F1.", "F0x", "f0", "B-1", "F99999999999"})
    EXPECT_NE(parse_actions(std::string("F0 ") + word).error().message.find(std::string("`") + word + "` is no action"),
              std::string::npos)
        << word;
}

TEST(TableText, IsDrawnInTime) {
  EXPECT_EQ(*draw(*make_table(Kind::one_forward_one_backward, {2, 2, 1})),
            "\n  rank 0  F0 F1       B0---    B1---"
            "\n  rank 1     F0 B0--- F1 B1---");
}

void expect_wrong(const Table& table, const std::string& message) {
  const Status status = check_table(table);
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message.find(message), std::string::npos) << status.error().message;
}

TEST(TableCheck, FindsWhatIsWrong) {
  EXPECT_TRUE(check_table(table_of({"F0 F1 B0 B1", "F0 B0 F1 B1"}, 2)));
  expect_wrong(table_of({"F0 F1 B0 B1", "F1 F0 B0 B1"}, 2), "rank 1 does F1 where micro-batch 0 is next");
  expect_wrong(table_of({"F0 F1 B0", "F0 B0 F1 B1"}, 2), "rank 0 never does B1; add it");
  expect_wrong(table_of({"F0 F1 B0 B1 B2", "F0 B0 F1 B1"}, 2),
               "rank 0 does B2, and gradient_accumulation_steps = 2 gives micro-batches 0 to 1");
  expect_wrong(table_of({"F0 B0 W0 F1 B1", "F0 B0 W0 F1 B1 W1"}, 2), "rank 0 never does W1; add it");
  expect_wrong(table_of({"F0 B0 F1 B1", "F0 F1 B0 B1"}, 2), "rank 0 waits for ever before B0, its action 2");
  expect_wrong(table_of({"F0.0 F0.1 B0.1 B0.0", "F0.0 F0.1 B0.1 B0.0"}, 1), "and there are chunks 0 to 0");
  expect_wrong(Table{{2, 1, 1}, Order::round, {{}}}, "the table has 1 lines, and the axis 2 ranks");
}

}  // namespace
}  // namespace baleen::pipeline
