/// \file What `baleen` says of a run of several ranks that cannot be: one line, once for all ranks, before the first
/// step.
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

TEST_F(Ranks, AnAxisThatNoStrategyClaims) {
  expect_refused(
      run(2, script("batch = 4"), {"--set", "mesh.order=[\"data\",\"sideways\"]", "--set", "mesh.sideways=2"}),
      "mesh axis `sideways` has 2 ranks, and no strategy of the plan works along it");
}

TEST_F(Ranks, AStrategyAlongAnAbsentAxis) {
  expect_refused(run(2, script("batch = 4, plan = { baleen.strategy('data', { axis = 'rows' }) }")),
                 "strategy `data` works along the mesh axis `rows`, and the mesh has none; name one of `data`");
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
               {"bash", "-c", "trap '' XFSZ; ulimit -f 64; exec \"$0\" \"$@\"", BALEEN_BUILD_DIR "/bin/baleen"});
  const ProcessResult result = run_process(words);
  expect_refused(result, " in shared memory: ", 3);
  expect_refused(result,
                 "File too large; use fewer ranks or a smaller batch, or give the machine or its container more memory",
                 3);
}

TEST_F(Ranks, AScriptErrorIsSaidOnce) { expect_refused(run(3, script("batch = 'many'")), "`batch` is "); }

}  // namespace
}  // namespace baleen::test
