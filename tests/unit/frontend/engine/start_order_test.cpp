/// \file What ranks begin together, of programs written by hand; how ranks that differ are named.
#include "frontend/engine/start_order.hpp"

#include <thread>

#include "unit/core/launch/sample.hpp"

namespace baleen::app {
namespace {

ExecutableCall call(baleen_collective_t op, std::vector<std::string> axes, const std::string& where) {
  ExecutableCall made;
  made.op = op;
  made.axes = std::move(axes);
  made.where = where;
  return made;
}

Segment segment(int loop, const std::vector<std::pair<std::uint32_t, Guard>>& begins) {
  Segment made;
  made.loop = loop;
  for (const auto& [number, guard] : begins) {
    Instruction launch, begin, wait;
    begin.kind = Instruction::Kind::begin;
    begin.guard = guard;
    begin.call = number;
    wait.kind = Instruction::Kind::wait;
    made.instructions.insert(made.instructions.end(), {launch, begin, wait});
  }
  return made;
}

const Mesh kMesh{{{"data", 2}, {"tensor", 2}}};

std::vector<std::string> lines_of(const std::vector<SharedStarts>& all, const std::vector<std::int64_t>& ranks) {
  for (const SharedStarts& one : all)
    if (one.ranks == ranks) return one.lines();
  ADD_FAILURE() << "no such group";
  return {};
}

TEST(SharedStarts, AreListedByGroupInTheOrderOfTheirBeginning) {
  Executable train, evaluate;
  train.calls = {call(BALEEN_ALL_REDUCE, {"data"}, "a.lua:1"), call(BALEEN_ALL_GATHER, {"tensor"}, "a.lua:2"),
                 call(BALEEN_ALL_REDUCE, {"data"}, "a.lua:3")};
  train.segments = {segment(0, {{2, Guard::last}, {1, Guard::always}}), segment(-1, {{0, Guard::always}})};
  evaluate.calls = {call(BALEEN_REDUCE, {"data"}, "a.lua:4")};
  evaluate.segments = {segment(-1, {{0, Guard::always}})};
  train.micro_batches = 2;
  const auto all = shared_starts({{"train", &train}, {"evaluate", &evaluate}}, kMesh, 1);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(lines_of(all, {1, 3}),
            (std::vector<std::string>{"all_reduce at line 3 (collective 2 of these ranks) in `train`",
                                      "all_reduce at line 1 (collective 1 of these ranks) in `train`",
                                      "reduce at line 4 (collective 3 of these ranks) in `evaluate`"}));
  const std::string gather = "all_gather at line 2 (collective 1 of these ranks) in `train`";
  EXPECT_EQ(lines_of(all, {0, 1}), (std::vector<std::string>{gather, gather}));
}

/// Stages of a pipeline: each has a schedule of its own, and a message reads alike on both sides.
TEST(SharedStarts, OfASendAndItsReceiveReadAlike) {
  Executable first, second;
  first.calls = {call(BALEEN_SEND, {"data"}, "a.lua:1")};
  first.calls[0].root = 1;
  first.segments = {segment(0, {{0, Guard::always}}), segment(0, {})};
  first.actions = {{0, 0}, {0, 1}, {1, 0}, {1, 1}};
  first.pipelined_loop = 0;
  second.calls = {call(BALEEN_RECEIVE, {"data"}, "a.lua:9")};
  second.segments = {segment(0, {{0, Guard::always}}), segment(0, {})};
  second.actions = {{0, 0}, {1, 0}, {0, 1}, {1, 1}};
  second.pipelined_loop = 0;
  const auto sends = shared_starts({{"train", &first}}, kMesh, 0),
             receives = shared_starts({{"train", &second}}, kMesh, 2);
  const std::vector<std::string> expected{"a message from rank 0 to rank 2 in `train`",
                                          "a message from rank 0 to rank 2 in `train`"};
  EXPECT_EQ(lines_of(sends, {0, 2}), expected);
  EXPECT_EQ(lines_of(receives, {0, 2}), expected);
}

SharedStarts starts(std::vector<std::int64_t> ranks, std::vector<std::string> lines) {
  SharedStarts made{std::move(ranks), std::move(lines), {}, false};
  for (std::uint32_t number = 0; number < made.texts.size(); ++number) made.order.push_back(number);
  return made;
}

class ComparedStarts : public SampleTest {
 protected:
  /// What each rank hears, of that which each tells.
  static std::vector<Status> compare(const std::vector<std::vector<SharedStarts>>& told) {
    std::vector<Status> heard(told.size());
    std::vector<std::jthread> ranks;
    for (std::size_t rank = 0; rank < told.size(); ++rank)
      ranks.emplace_back([&, rank] {
        const auto link = sample_link(static_cast<int>(rank), static_cast<int>(told.size()), 20000);
        heard[rank] = compare_starts(*link, told[rank]);
      });
    ranks.clear();
    return heard;
  }
};

TEST_F(ComparedStarts, AreFineWhereGroupsAgree) {
  const SharedStarts all = starts({0, 1, 2}, {"a", "b"}), two = starts({1, 2}, {"c"});
  for (const Status& status : compare({{all}, {all, two}, {all, two}})) EXPECT_TRUE(status) << status.error().text();
}

TEST_F(ComparedStarts, NameTheFirstDifferenceOnEveryRank) {
  const SharedStarts all = starts({0, 1, 2}, {"a", "b"}), one = starts({1, 2}, {"a", "b", "c"}),
                     other = starts({1, 2}, {"a", "x", "c"});
  for (const Status& status : compare({{all}, {all, one}, {all, other}})) {
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, BALEEN_INVALID);
    EXPECT_TRUE(
        status.error().text().starts_with("rank 2 begins x where rank 1 begins b: number 2 of what they begin "
                                          "together; "))
        << status.error().text();
  }
}

TEST_F(ComparedStarts, NameAListThatEndsEarly) {
  for (const Status& status : compare({{starts({0, 1}, {"a", "b"})}, {starts({0, 1}, {"a"})}})) {
    ASSERT_FALSE(status);
    EXPECT_TRUE(status.error().text().starts_with("rank 1 begins nothing more where rank 0 begins b: number 2 "))
        << status.error().text();
  }
}

TEST_F(ComparedStarts, NoticeARankThatListsNothing) {
  for (const Status& status : compare({{starts({0, 1}, {"a"})}, {}})) {
    ASSERT_FALSE(status);
    EXPECT_TRUE(status.error().text().starts_with("another of its ranks begins nothing more where rank 0 begins a"))
        << status.error().text();
  }
}

}  // namespace
}  // namespace baleen::app
