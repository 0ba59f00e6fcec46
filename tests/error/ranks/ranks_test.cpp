/// \file What `baleen` says of a run of several ranks that cannot be: one line, once for all ranks, before the first
/// step.
#include <chrono>

#include "ranks_run.hpp"

namespace baleen::test {
namespace {

TEST_F(Ranks, RunWhereNothingIsWrong) {
  const ProcessResult result = run(2, script("batch = 4"));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("rank 1"), std::string::npos) << result.out;  // the closing summary
}

TEST_F(Ranks, MoreThanTheBatchCanFeed) {
  expect_refused(run(4, script("batch = 3")),
                 "a batch of 3 rows cannot feed the 4 ranks along `data`; take a batch of 4 or more, or fewer ranks");
}

TEST_F(Ranks, OtherThanTheMeshHasPlaces) {
  const std::string manifest =
      folder_.write("c.toml", "[cluster]\nhosts = [{ name = \"localhost\", ranks = 3 }]\n[mesh]\ndata = 2\n");
  expect_refused(run_baleen({"run", script("batch = 4"), "--manifest", manifest}),
                 manifest + ":3:1: the mesh has 2 ranks, but the hosts have 3 ranks; make them equal");
}

TEST_F(Ranks, MoreThanTheHostHasMemoryFor) {
  const std::string manifest = folder_.write(
      "many.toml", "[cluster]\nhosts = [{ name = \"localhost\", ranks = 1000000 }]\n[mesh]\ndata = 1000000\n");
  const auto begin = std::chrono::steady_clock::now();
  const ProcessResult result = run_baleen({"run", script("batch = 4"), "--manifest", manifest});
  expect_refused(result, "host `localhost` is to start 1000000 ranks, whose processes take 1.9 TiB at least");
  EXPECT_NE(result.err.find("; give it fewer `ranks`"), std::string::npos) << result.err;
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

TEST_F(Ranks, AnAxisThatNoStrategyClaims) {
  expect_refused(
      run(2, script("batch = 4"), {"--set", "mesh.order=[\"data\",\"sideways\"]", "--set", "mesh.sideways=2"}),
      "mesh axis `sideways` has 2 ranks, and no strategy of the plan works along it");
}

TEST_F(Ranks, AStrategyAlongAnAbsentAxis) {
  expect_refused(run(2, script("batch = 4, plan = { baleen.strategy('data', { axis = 'rows' }) }")),
                 "strategy `data` works along the mesh axis `rows`, and the mesh has none; name one of `data`");
}

TEST_F(Ranks, ATransportThatCannotSumInOneOrder) {
  std::vector<std::string> words{"--set", "transport.plugin=loose", "--set", "transport.over=shm"};
  expect_refused(run(2, script("batch = 4"), words),
                 "it adds in any order; write `deterministic = false` into [transport]");
  words.insert(words.end(), {"--set", "transport.deterministic=false"});
  const ProcessResult result = run(2, script("batch = 4"), words);
  EXPECT_EQ(result.exit_code, 0) << result.err;
}

/// Rank 0 alone opens it; the others do not wait for it.
TEST_F(Ranks, AFileThatCannotBeWrittenInto) {
  const std::string log = folder_ / "none/log.jsonl";
  const auto begin = std::chrono::steady_clock::now();
  expect_refused(run(3, script("batch = 4"), {"--log-json", log}),
                 "monitor `jsonl`: " + log + ": cannot open for writing: No such file or directory");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

TEST_F(Ranks, AnUnknownStrategyAndAnUnknownOption) {
  expect_refused(run(2, script("batch = 4, plan = { baleen.strategy('dta') }")),
                 "unknown strategy plugin `dta`; did you mean `data`?");
  expect_refused(run(2, script("batch = 4, plan = { baleen.strategy('data', { buckets = 2 }) }")),
                 "strategy `data`: unknown option `buckets`");
}

TEST_F(Ranks, AnUnknownTransportAndAnUnknownOption) {
  expect_refused(run(2, script("batch = 4"), {"--set", "transport.plugin=\"smh\""}),
                 "unknown transport plugin `smh`; did you mean `shm`?");
  expect_refused(run(2, script("batch = 4"), {"--set", "transport.plugin=\"shm\"", "--set", "transport.segments=2"}),
                 "unknown option `segments`");
  // Also where one rank needs no transport.
  expect_refused(run(1, script("batch = 4"), {"--set", "transport.plugin=\"shm\"", "--set", "transport.segments=2"}),
                 "unknown option `segments`");
}

TEST_F(Ranks, TooLittleSharedMemory) {
  std::vector<std::string> words = on_ranks(2, script("batch = 4"), {});
  words.insert(words.begin(),
               {"bash", "-c", "trap '' XFSZ; ulimit -f 64; exec \"$0\" \"$@\"", build_dir() + "/bin/baleen"});
  const ProcessResult result = run_process(words);
  expect_refused(result, " in shared memory: it is larger than a file may be; raise the limit `ulimit -f`", 3);
}

TEST_F(Ranks, AScriptErrorIsSaidOnce) { expect_refused(run(3, script("batch = 'many'")), "`batch` is "); }

/// What every rank finds is told as what it is, whichever of them comes first.
TEST_F(Ranks, AMistakeThatAllFindIsNoRanksOwn) {
  const std::vector<std::string> words{"--set", "mesh.order=[\"data\",\"tensor\"]", "--set", "mesh.tensor=4"};
  const std::string more =
      "batch = 4, model = nn.linear { name = 'up', out = 2, axes = { 'ff' } },\n"
      "  plan = { baleen.strategy('data'), baleen.strategy('tensor') }";
  for (int times = 0; times < 3; ++times) {
    const ProcessResult result = run(1, script(more), words);
    expect_refused(result, "`up.weight` has `ff` = 2, which cannot be cut over the 4 ranks along `tensor`");
    EXPECT_EQ(result.err.find("ranks 0"), std::string::npos) << result.err;
    EXPECT_EQ(result.err.find("rank 0"), std::string::npos) << result.err;
  }
}

/// An op of a loss has no name of its own.
TEST_F(Ranks, AnOpWithoutANameIsToldByItsKind) {
  const std::string loss = "loss = function(x) return baleen.ops.sum(baleen.ops.matmul('bc,dc->bd', x, x)), 1 end";
  expect_refused(run(1, script("batch = 4, gradient_accumulation_steps = 2, " + loss)),
                 "train.lua:6: matmul combines the batch with another dimension");
}

/// Not by where the ranks were when they had ended.
TEST_F(Ranks, AFailureOfTheReferenceIsToldAsItsOwn) {
  const std::string fails =
      "on_step = function(info)\n"
      "    if string.unpack('f', string.pack('f', info.loss)) ~= info.loss then error('more digits than fp32') end end";
  const ProcessResult result =
      run_baleen({"verify", script("batch = 4, " + fails), "--set", "mesh.data=2", "--dtype", "fp32"});
  expect_refused(result, "train.lua:7: more digits than fp32");
  EXPECT_TRUE(result.err.starts_with("error: rank 0, running the script on one rank alone: ")) << result.err;
}

TEST_F(Ranks, AreDrawnInTheGraph) {
  const std::string job = script("batch = 4");
  const ProcessResult one = run_baleen({"graph", "--ops", job}),
                      two = run_baleen({"graph", "--ops", job, "--set", "mesh.data=2"});
  EXPECT_EQ(one.exit_code, 0) << one.err;
  EXPECT_EQ(two.exit_code, 0) << two.err;
  EXPECT_EQ(one.out.find("all_reduce"), std::string::npos) << one.out;
  EXPECT_NE(two.out.find("all_reduce"), std::string::npos) << two.out;
  EXPECT_NE(two.out.find("GFLOP, on 2 ranks (data 2)\n"), std::string::npos) << two.out;
  expect_refused(run_baleen({"graph", job, "--set", "mesh.data=5"}), "a batch of 4 rows cannot feed the 5 ranks");
}

TEST_F(Ranks, PrintTheirPassesOnce) {
  const std::string job = script("batch = 4");
  const ProcessResult graph = run_baleen({"graph", job, "--set", "mesh.data=2", "--print-passes", "--ops"});
  const ProcessResult trained = run(2, job, {"--print-passes"});
  EXPECT_EQ(trained.exit_code, 0) << trained.err;
  const std::string passes = graph.out.substr(0, graph.out.rfind("\n\n"));  // before the graph itself
  EXPECT_NE(passes.find("all_reduce"), std::string::npos) << passes;
  const std::size_t first = trained.out.find(passes);
  EXPECT_NE(first, std::string::npos) << trained.out;
  EXPECT_EQ(trained.out.find("---", first + passes.size()), std::string::npos) << trained.out;
  EXPECT_EQ(trained.out.find("1: ---"), std::string::npos) << trained.out;
}

TEST_F(Ranks, AreOneWhereTextIsGenerated) {
  const std::string gpt = source_dir() + "/tests/parity/gpt.lua", model = folder_ / "gpt.safetensors";
  const std::vector<std::string> data{"--", "--data", source_dir() + "/tests/golden/whales.txt"};
  const auto with_data = [&](std::vector<std::string> words) {
    words.insert(words.end(), data.begin(), data.end());
    return run_baleen(words);
  };
  ASSERT_EQ(with_data({"run", gpt, "--set", "mesh.data=2", "--steps", "1", "--save", model}).exit_code, 0);
  const std::vector<std::string> words{"generate", gpt, "--load", model, "--prompt", "whale", "--tokens", "8"};
  const ProcessResult alone = with_data(words);
  ASSERT_EQ(alone.exit_code, 0) << alone.err;
  EXPECT_TRUE(alone.out.starts_with("whale")) << alone.out;  // what is written: tests/parity/generate
  EXPECT_GT(alone.out.size(), std::string("whale\n").size());
  std::vector<std::string> with_ranks = words;
  with_ranks.insert(with_ranks.end(), {"--set", "mesh.data=2"});
  const ProcessResult noted = with_data(with_ranks);
  EXPECT_EQ(noted.exit_code, 0) << noted.err;
  EXPECT_EQ(noted.out, alone.out);
  EXPECT_EQ(alone.err, "");
  EXPECT_EQ(noted.err, "info: generate runs on one rank; the manifest's 2 are for training\n");
}

}  // namespace
}  // namespace baleen::test
