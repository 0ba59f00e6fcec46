/// \file What a checkpoint format with shards must do: any rank reads any piece of what other ranks have written, and a
/// checkpoint is there when it is committed, not before.
#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "support/seed.hpp"
#include "support/shard_run.hpp"
#include "support/temporary_folder.hpp"

namespace {

using namespace baleen::test;

class Shards : public testing::TestWithParam<std::string> {
 protected:
  ShardRun run{built_plugin("checkpoint", GetParam())};
  TemporaryFolder folder_;
  const std::string folder = folder_ / "step-100";
  const NamedTensor matrix = some_tensor("matrix", BALEEN_F32, {6, 8}), flat = some_tensor("flat", BALEEN_F32, {5, 7}),
                    both = some_tensor("both", BALEEN_BF16, {4, 6}), copied = some_tensor("copied", BALEEN_F64, {3}),
                    number = some_tensor("number", BALEEN_I64, {}), empty = some_tensor("empty", BALEEN_F32, {0, 4}),
                    single = some_tensor("single", BALEEN_U8, {3, 1, 2});

  /// 2-D blocks, rows in two runs; flat shards of the whole and of halves; values that all have, and that one has.
  std::vector<TestPiece> of_writer(int writer) const {
    const TestRanges rows = writer / 2 == 0 ? TestRanges{{0, 1}, {5, 6}} : TestRanges{{1, 5}};
    const TestRanges columns = writer % 2 == 0 ? TestRanges{{0, 3}} : TestRanges{{3, 8}};
    const TestRanges half = writer % 2 == 0 ? TestRanges{{0, 3}} : TestRanges{{3, 6}};
    const baleen_range_t quarter{9 * writer, std::min(9 * writer + 9, 35)};
    const baleen_range_t part = writer / 2 == 0 ? baleen_range_t{0, 7} : baleen_range_t{7, 12};
    std::vector<TestPiece> pieces{
        {&matrix, {rows, columns}}, {&flat, {}, quarter}, {&both, {{}, half}, part}, {&copied}, {&number}};
    if (writer == 0) pieces.push_back({&empty});
    if (writer == 2) pieces.push_back({&single});
    return pieces;
  }
  void write_all(const std::string& attempt, int first = 0, int last = 4) {
    for (int writer = first; writer < last; ++writer)
      ASSERT_EQ(run.write(folder, attempt, writer, 4, of_writer(writer)), "");
  }
  /// Everything, in thirds of other directions, and whole.
  std::vector<TestPiece> of_reader(int reader) const {
    const TestRanges columns[] = {{{0, 1}, {4, 6}}, {{1, 4}}, {{6, 8}}};
    const baleen_range_t third{12 * reader, std::min(12 * reader + 12, 35)};
    return {{&matrix, {{}, columns[reader]}},
            {&matrix, {{{2 * reader, 2 * reader + 2}}}, baleen_range_t{3, 14}},
            {&flat, {}, third},
            {&both, {{{reader, reader + 1}}}},
            {&both},
            {&copied},
            {&copied, {{{reader, reader + 1}}}},
            {&number},
            {&empty},
            {&single, {{{reader, reader + 1}}}}};
  }
  void expect_equal(const std::vector<TestPiece>& pieces) {
    std::vector<std::string> bytes;
    ASSERT_EQ(run.read(folder, pieces, bytes), "");
    for (std::size_t i = 0; i < pieces.size(); ++i) EXPECT_EQ(bytes[i], pieces[i].bytes()) << pieces[i].whole->name;
  }
  /// Why two writers' pieces of one tensor are no checkpoint.
  std::string refusal(const TestPiece& first, const TestPiece& second) {
    EXPECT_EQ(run.write(folder, "try", 0, 2, {first}), "");
    EXPECT_EQ(run.write(folder, "try", 1, 2, {second}), "");
    return run.commit(folder, "try", 2);
  }
  static void expect_says(const std::string& text, const std::vector<std::string>& parts) {
    for (const std::string& part : parts) EXPECT_NE(text.find(part), std::string::npos) << part << " in: " << text;
  }
};

TEST_P(Shards, GiveOtherRanksOtherPieces) {
  write_all("a");
  ASSERT_EQ(run.commit(folder, "a", 4, {{"step", "100"}, {"note", "ümlaut \"quoted\""}}), "");
  for (int reader = 0; reader < 3; ++reader) expect_equal(of_reader(reader));
  TestFacts facts;
  std::map<std::string, NamedTensor> listed;
  for (const NamedTensor& tensor : run.list(folder, facts)) listed[tensor.name] = tensor;
  EXPECT_EQ(facts, (TestFacts{{"step", "100"}, {"note", "ümlaut \"quoted\""}}));
  EXPECT_EQ(listed.size(), 7u);
  EXPECT_EQ(listed["both"], (NamedTensor{"both", BALEEN_BF16, {4, 6}, ""}));
}

/// Grids of any cuts, whose blocks go to any of the writers, read as any boxes and flat parts of them.
TEST_P(Shards, GiveAnyPieceOfAnyGrid) {
  std::mt19937_64 random(seed());
  const auto below = [&](std::int64_t bound) { return static_cast<std::int64_t>(random() % bound); };
  for (int round = 0; round < 20; ++round) {
    std::vector<std::int64_t> shape;
    for (std::int64_t d = below(4); d >= 0; --d) shape.push_back(1 + below(6));
    const NamedTensor tensor = some_tensor("t", BALEEN_I32, shape);
    std::vector<TestPiece> grid{{&tensor}};
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const std::int64_t cut = below(shape[d] + 1), other = cut + below(shape[d] + 1 - cut);
      std::vector<TestPiece> finer;
      for (TestPiece piece : grid)
        for (const TestRanges& part : {TestRanges{{0, cut}, {other, shape[d]}}, TestRanges{{cut, other}}}) {
          piece.ranges.resize(d);
          piece.ranges.push_back(part);
          finer.push_back(piece);
        }
      grid = std::move(finer);
    }
    const int writers = static_cast<int>(grid.size());
    const std::string attempt = "round-" + std::to_string(round);
    for (int writer = 0; writer < writers; ++writer)
      ASSERT_EQ(run.write(folder, attempt, writer, writers, {grid[writer]}), "");
    ASSERT_EQ(run.commit(folder, attempt, writers), "");
    std::vector<TestPiece> wanted;
    for (int reader = 0; reader < 5; ++reader) {
      TestPiece piece{&tensor};
      for (const std::int64_t extent : shape) {
        const std::int64_t begin = below(extent + 1);
        piece.ranges.push_back({{begin, begin + below(extent + 1 - begin)}});
      }
      wanted.push_back(piece);
      const auto box = static_cast<std::int64_t>(piece.elements().size()), begin = below(box + 1);
      piece.flat = baleen_range_t{begin, begin + below(box + 1 - begin)};
      wanted.push_back(piece);
    }
    expect_equal(wanted);
  }
}

TEST_P(Shards, AreNoCheckpointBeforeTheCommit) {
  do_and_be_killed([&] { write_all("a"); });
  expect_says(run.failure_of_reading(folder), {folder, "holds no checkpoint"});
  ASSERT_EQ(run.commit(folder, "a", 4), "") << "what was written is whole";
  expect_equal(of_reader(0));
}

TEST_P(Shards, LeaveTheEarlierCheckpointUntilTheCommit) {
  write_all("a");
  ASSERT_EQ(run.commit(folder, "a", 4, {{"step", "100"}}), "");
  do_and_be_killed([&] { write_all("b", 0, 2); });
  expect_says(run.commit(folder, "b", 4), {"writer 2 of 4 has written no shards under `b`"});
  TestFacts facts;
  run.list(folder, facts);
  EXPECT_EQ(facts["step"], "100");
  for (int reader = 0; reader < 3; ++reader) expect_equal(of_reader(reader));

  write_all("c");
  ASSERT_EQ(run.commit(folder, "c", 4, {{"step", "200"}}), "");
  run.list(folder, facts);
  EXPECT_EQ(facts["step"], "200");
  expect_equal(of_reader(1));
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files += entry.is_regular_file();
  EXPECT_EQ(files, 5u) << "four writers' and the index";
}

TEST_P(Shards, AreRefusedWhereElementsAreMissing) {
  expect_says(refusal({&matrix, {{{0, 3}}}}, {&matrix, {{{3, 6}}, {{0, 7}}}}),
              {folder, "`matrix`", "[6, 8]", "no writer holds its elements [31, 32)"});
  expect_says(refusal({&flat, {}, baleen_range_t{0, 20}}, {&flat, {}, baleen_range_t{20, 34}}),
              {"`flat`", "no writer holds its elements [34, 35)"});
  expect_says(run.failure_of_reading(folder), {"holds no checkpoint"});
}

TEST_P(Shards, AreRefusedWhereTheyOverlap) {
  expect_says(refusal({&matrix, {{{0, 4}}}}, {&matrix, {{{3, 6}}}}),
              {"`matrix`", "element 24", "try-00001-of-00002", "try-00002-of-00002"});
  EXPECT_EQ(refusal({&matrix}, {&matrix}), "") << "equal pieces are copies";
}

TEST_P(Shards, AreRefusedWhereRanksDisagree) {
  const NamedTensor longer = some_tensor("matrix", BALEEN_F32, {7, 8}),
                    other = some_tensor("matrix", BALEEN_I32, {6, 8});
  expect_says(refusal({&matrix, {{{0, 3}}}}, {&longer, {{{3, 7}}}}), {"try-00002", "`matrix`", "[7, 8]", "[6, 8]"});
  expect_says(refusal({&matrix, {{{0, 3}}}}, {&other, {{{3, 6}}}}), {"`matrix`", "int32", "fp32"});
}

TEST_P(Shards, AreRefusedOutsideOfTheTensor) {
  for (const TestRanges& rows : {TestRanges{{0, 7}}, TestRanges{{3, 5}, {4, 6}}, TestRanges{{-1, 2}}}) {
    std::string memory(4096, 'x');
    baleen_shard_t shard = TestPiece{&matrix, {rows}}.view(memory);
    const auto* table =
        static_cast<const baleen_checkpoint_shards_t*>(run.plugin.table.query(baleen::abi(BALEEN_CHECKPOINT_SHARDS)));
    EXPECT_EQ(table->write(run.plugin.host->get(), baleen::abi(folder), baleen::abi("a"), 0, 1, &shard, 1),
              BALEEN_INVALID);
    expect_says(run.plugin.host->failure(), {"`matrix`", "dimension 0", "within its 6"});
  }
}

TEST_P(Shards, AreReadAsWhatTheyAre) {
  write_all("a");
  ASSERT_EQ(run.commit(folder, "a", 4), "");
  const NamedTensor longer = some_tensor("matrix", BALEEN_F32, {7, 8}), unknown = some_tensor("none", BALEEN_F32, {1});
  expect_says(run.failure_of_reading(folder, {{&longer}}),
              {folder, "`matrix` is fp32 [6, 8]", "asked for as fp32 [7, 8]"});
  expect_says(run.failure_of_reading(folder, {{&unknown}}), {folder, "no tensor `none`"});
}

TEST_P(Shards, NameAFileThatIsCutShortOrMissing) {
  write_all("a");
  ASSERT_EQ(run.commit(folder, "a", 4), "");
  std::string third;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().filename().string().find("00003") != std::string::npos) third = entry.path();
  const auto size = std::filesystem::file_size(third);
  std::filesystem::resize_file(third, size - 1);
  expect_says(run.failure_of_reading(folder),
              {third, "has " + std::to_string(size - 1) + " bytes", "another checkpoint"});
  std::filesystem::remove(third);
  expect_says(run.failure_of_reading(folder), {third, "No such file"});
}

TEST_P(Shards, TakeNoAttemptTwiceAndNoOddName) {
  write_all("a");
  ASSERT_EQ(run.commit(folder, "a", 4), "");
  expect_says(run.write(folder, "a", 0, 4, of_writer(0)), {"`a` is committed", "another name"});
  for (const char* name : {"", "../a", "a b"}) expect_says(run.write(folder, name, 0, 1, {}), {"cannot be named"});
  expect_says(run.write(folder_ / "missing/step", "b", 0, 1, {}), {"missing/step", "No such file"});
  expect_equal(of_reader(2));
}

std::vector<std::string> members_with_shards() {
  std::vector<std::string> all = built_members("checkpoint");
  std::erase_if(all, [](const std::string& name) { return !ShardRun(built_plugin("checkpoint", name)).available(); });
  return all;
}

INSTANTIATE_TEST_SUITE_P(Members, Shards, testing::ValuesIn(members_with_shards()),
                         [](const auto& info) { return info.param; });

}  // namespace
