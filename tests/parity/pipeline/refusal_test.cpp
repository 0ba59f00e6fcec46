/// \file What a pipeline cannot do is refused before any work, with the place and the fix; and what stages that a
/// script marks come to.
#include <gtest/gtest.h>

#include "pipeline_run.hpp"
#include "support/refusal.hpp"

namespace baleen::test {
namespace {

void expect_refused(const MeshAxes& mesh, const std::string& options, const std::vector<std::string>& arguments,
                    const std::string& message) {
  expect_refusal(run_parity({"run"}, "gpt", manifest_of(mesh, pipeline_entry(options)), arguments),
                 {.after_others = true, .parts = {message, "ranks.toml:"}, .before = Before::kNoStep});
}

const MeshAxes kTwo{{"pipeline", 2}}, kFour{{"pipeline", 4}};

TEST(PipelineRefusal, TooFewMicroBatches) {
  expect_refused(
      kFour, "", {"layers=4", "batch=16", "accumulate=2"},
      "a pipeline of 4 ranks needs 4 micro-batches or more to keep them busy, and gradient_accumulation_steps "
      "is 2; set gradient_accumulation_steps, or `micro_batches` of parallel.pipeline, to 8, or make the axis smaller");
}

TEST(PipelineRefusal, MicroBatchesThatDoNotDivide) {
  expect_refused(kFour, schedule_option("interleaved"), {"layers=8", "batch=18", "accumulate=6"},
                 "takes micro-batches in groups of the 4 ranks of its axis, and there are 6; set "
                 "gradient_accumulation_steps, or `micro_batches` of parallel.pipeline, to 8 and batch = 24 (18 rows "
                 "do not divide into so many), or take schedule");
}

/// What is proposed can be done.
TEST(PipelineRefusal, ProposesMicroBatchesThatTheBatchDividesInto) {
  expect_refused(
      kTwo, "", {"layers=4", "batch=6", "accumulate=1"},
      "set gradient_accumulation_steps, or `micro_batches` of parallel.pipeline, to 3, or make the axis smaller");
  expect_refused(kTwo, "", {"layers=4", "batch=1", "accumulate=1"},
                 "set gradient_accumulation_steps, or `micro_batches` of parallel.pipeline, to 4 and batch = 4 (1 rows "
                 "do not divide into so many)");
  expect_refused(
      kTwo, schedule_option("interleaved"), {"layers=4", "batch=18", "accumulate=3"},
      "set gradient_accumulation_steps, or `micro_batches` of parallel.pipeline, to 2, or take schedule = \"looped\"");
}

TEST(PipelineRefusal, MoreStagesThanLayers) {
  expect_refused({{"pipeline", 6}}, "", {"layers=2", "batch=12", "accumulate=12"},
                 "there are 6 stages, and the model has 5 layers that can stand on a rank of their own");
}

TEST(PipelineRefusal, MemoryThatNoCutKeepsWithin) {
  expect_refused(kTwo, "memory_mb = 0.01\n", {"layers=4", "accumulate=4"}, "no cut into 2 stages holds at most 1 MiB");
}

TEST(PipelineRefusal, OptionsThatWouldDoNothing) {
  expect_refused(kTwo, "chunks = 2\n", {"accumulate=4"}, "has one chunk of the model on each rank, and `chunks` is 2");
  expect_refused(kTwo, schedule_option("zero_bubble_v") + "chunks = 3\n", {"accumulate=4"}, "set chunks = 2");
  expect_refused(kTwo, "table = [\"F0 B0\", \"F0 B0\"]\n", {"accumulate=4"},
                 "does not read it; set schedule = \"table\"");
  expect_refused(kTwo, schedule_option("table"), {"accumulate=4"}, "give `table` a line per rank");
}

TEST(PipelineRefusal, ShardsAlongTheStages) {
  if (!has_plugin("strategy", "zero")) GTEST_SKIP() << "no strategy `zero` in this tree";
  const std::string zero = "[[plan]]\nstrategy = \"zero\"\nstage = 1\nextra_axes = [\"pipeline\"]\n";
  expect_refused(
      {{"pipeline", 2}, {"data", 2}}, zero, {"accumulate=4"},
      "is to be stored with coordinate 0 alone along `pipeline` for strategy `pipeline`, and cut into even runs");
}

/// An embedding that is gathered in the first stage's backward pass, for the last stage's, which comes before.
TEST(PipelineRefusal, RanksThatWouldWaitForEachOther) {
  if (!has_plugin("strategy", "zero")) GTEST_SKIP() << "no strategy `zero` in this tree";
  const MeshAxes mesh{{"pipeline", 4}, {"data", 2}};
  const std::string plan =
      pipeline_entry(schedule_option("interleaved")) + "[[plan]]\nstrategy = \"zero\"\nstage = 3\n";
  const ProcessResult result =
      run_parity({"plan"}, "gpt", manifest_of(mesh, plan), {"layers=15", "batch=32", "accumulate=16", "tied"});
  expect_refusal(result,
                 {.after_others = true,
                  .parts = {"coordinates of axis `pipeline` would wait for each other for ever: 0, in the forward pass",
                            "3, in the backward pass"}});
}

TEST(PipelineRefusal, TablesThatCannotBe) {
  const auto refused = [](const std::string& lines, const std::string& message) {
    expect_refused(kTwo, schedule_option("table") + "table = [" + lines + "]\n", {"accumulate=2"}, message);
  };
  refused("\"F0 F1 B0 B1\", \"F0 X0\"", "`X0` is no action");
  refused("\"F0 F1 B0 B1\"", "the table has 1 lines, and the axis 2 ranks");
  refused("\"F0 F1 B0 B1\", \"F0 B0 F1\"", "rank 1 never does B1; add it");
  refused("\"F0 B0 F1 B1\", \"F0 F1 B0 B1\"", "rank 0 waits for ever before B0, its action 2");
  refused("\"F0 F1 B0 B1\", \"F0 B0 F1 B1 F2 B2\"", "gradient_accumulation_steps = 2 gives micro-batches 0 to 1");
}

/// A script of layers a, b, c, d and head; line 5 is the model's body.
class Marked : public ::testing::Test {
 protected:
  ProcessResult run(const std::string& body, const std::vector<std::string>& command, int ranks = 2,
                    const std::string& more = "") const {
    const std::string script =
        R"(local baleen = require "baleen"
local nn, parallel, rows = baleen.nn, baleen.parallel, {} for i = 1, 48 do rows[i] = { i % 5, i % 7, i % 3 } end
local function layer(name) return nn.linear { name = name, out = 6 } end
local a, b, c, d, head = layer "a", layer "b", layer "c", layer "d", nn.linear { name = "head", out = 3 })"
        R"( local pair = nn.layer { kind = "pair",)"
        R"( setup = function(self) self.up, self.down = layer "up", layer "down" end,)"
        R"( forward = function(self, x))"
        R"( return parallel.stage { index = 2 } (self.down, parallel.stage { index = 1 } (self.up, x)) end })"
        R"( local blocks = nn.repeated(2, function() return pair {} end)
local function model(x) )" +
        body +
        R"( end
return baleen.job { data = baleen.data.table { rows = rows, held_out = 0.2 }, batch = 8, steps = 4, model = model,
  loss = nn.cross_entropy {}, optimizer = baleen.optimizer("adamw"), )" +
        more + "}\n";
    std::vector<std::string> words{command[0], folder_.write("train.lua", script), "--manifest",
                                   folder_.write("ranks.toml", manifest_of({{"pipeline", ranks}}, ""))};
    words.insert(words.end(), command.begin() + 1, command.end());
    return run_baleen(words);
  }
  void expect_refused(const std::string& body, const std::string& message, int ranks = 2,
                      const std::string& more = "gradient_accumulation_steps = 4") const {
    expect_refusal(run(body, {"run"}, ranks, more),
                   {.after_others = true, .parts = {folder_ / "train.lua:" + message}});
  }
  const TemporaryFolder folder_;
};

/// The stages are those that the script marks, whatever they cost, and the numbers those of one rank.
TEST_F(Marked, StagesAreTaken) {
  const std::string body =
      "return parallel.pipeline { micro_batches = 4 } (function()\n"
      "x = parallel.stage {} (a, x)\n"
      "return parallel.stage {} (function() return head(d(c(b(x)))) end) end)";
  const ProcessResult graph = run(body, {"graph", "--ops"});
  EXPECT_EQ(graph.exit_code, 0) << graph.err;
  for (const char* name : {"b", "c", "d", "head"})
    EXPECT_NE(graph.out.find("name=\"" + std::string(name) + ".weight\" : fp32 [6, " + (name[0] == 'h' ? "3" : "6") +
                             "] {@1,R}"),
              std::string::npos)
        << name << graph.out;
  EXPECT_NE(graph.out.find("name=\"a.weight\" : fp32 [2, 6] {@0,R}"), std::string::npos) << graph.out;
  expect_equal(run(body, {"verify", "--steps", "4"}), 4);
}

TEST_F(Marked, SplitAndReplicateStandInside) {
  const std::string body =
      "return parallel.pipeline { micro_batches = 4 } (function()\n"
      "x = parallel.stage {} (function() return parallel.replicate { axis = 'tensor' } (b, a(x)) end)\n"
      "return parallel.stage {} (function() return head(d(c(x))) end) end)";
  expect_equal(run(body, {"verify", "--steps", "2"}), 2);
}

TEST_F(Marked, OtherNumbersOfStages) {
  expect_refused(
      "x = parallel.stage {} (a, x)\nx = parallel.stage {} (b, x)\nreturn parallel.stage {} (function() return "
      "head(d(c(x))) end)",
      "7: the script marks 3 stages, and the plan has 2");
  expect_refused("return parallel.stage {} (function() return head(d(c(b(a(x))))) end)",
                 "5: the script marks 1 stages, and the plan has 2");
}

/// Line 4 has a layer of two parts, each of them marked as a stage.
TEST_F(Marked, AStageThatCutsARepeatedBlockTwice) {
  expect_refused("return head(blocks(a(x)))",
                 "4: `blocks.0.down` stands in a block that stage 1 has a part of already; a "
                 "stage has whole blocks: put parallel.stage around the block, not inside it");
}

TEST_F(Marked, AValueThatAnEarlierStageReads) {
  expect_refused(
      "x = parallel.stage { index = 2 } (a, x)\n"
      "return parallel.stage { index = 1 } (function() return head(d(c(b(x)))) end)",
      "6: `b` of stage 1 reads what stage 2 makes, which it cannot receive: stages send to "
      "later ones only");
}

TEST_F(Marked, StagesInsideStagesAndTwoPipelines) {
  expect_refused("return parallel.stage {} (function() return parallel.stage {} (head, x) end)",
                 "5: parallel.stage: it stands inside the stage of");
  expect_refused(
      "return parallel.pipeline { micro_batches = 2 } (function() return parallel.pipeline { micro_batches = 2 } "
      "(head, x) end)",
      "5: parallel.pipeline: there is one at");
}

TEST_F(Marked, OtherMicroBatchesThanTheJobs) {
  expect_refused("return parallel.pipeline { micro_batches = 2 } (head, x)",
                 "5: parallel.pipeline: `micro_batches` is 2, and the job's `gradient_accumulation_steps` 4; leave one "
                 "of the two out");
}

}  // namespace
}  // namespace baleen::test
