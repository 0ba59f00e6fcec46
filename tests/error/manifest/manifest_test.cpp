/// \file Bad manifests, given to the program: one line with file, line, column, the bad value and the fix.
#include <gtest/gtest.h>

#include "support/process.hpp"
#include "support/refusal.hpp"
#include "support/temporary_folder.hpp"

namespace baleen::test {
namespace {

class BadManifest : public testing::Test {
 protected:
  ProcessResult run(const std::string& text, std::vector<std::string> words = {}) {
    words.insert(words.begin(), {"run", script_, "--manifest", folder_.write("c.toml", text)});
    return run_baleen(words);
  }
  /// The one line on stderr, which begins with the manifest's path where `why` begins with ':'.
  void expect_refused(const ProcessResult& result, const std::string& why) {
    const std::string place = why.starts_with(':') ? folder_ / "c.toml" : "";
    expect_refusal(result, {.begins = place + why, .lines = 1, .before = Before::kNothing});
  }
  TemporaryFolder folder_;
  const std::string script_ = folder_.write("job.lua", "error('the script must not be reached')\n");
};

TEST_F(BadManifest, IsMissing) {
  const ProcessResult result = run_baleen({"run", script_, "--manifest", folder_ / "absent.toml"});
  expect_refused(result, (folder_ / "absent.toml") + ": no such manifest");
}

TEST_F(BadManifest, HasASyntaxError) { expect_refused(run("[compute]\nplugin = \"x\n"), ":2:"); }

TEST_F(BadManifest, HasASyntaxErrorThatIsSaidOnce) {
  expect_refused(run("[compute\nplugin = \"x\"\n"), ":1:9: syntax error: expected ']', saw '\\n'\n");
}

TEST_F(BadManifest, HasAnUnknownSection) {
  expect_refused(run("[cluster]\nhosts = [{ name = \"a\", ranks = 1 }]\n\n[tranport]\nplugin = \"x\"\n"),
                 ":4:2: unknown key `tranport`; did you mean `transport`?");
}

TEST_F(BadManifest, HasAnUnknownKey) {
  expect_refused(run("[cluster]\nhots = []\n"), ":2:1: unknown key `hots`; did you mean `hosts`?");
}

TEST_F(BadManifest, SaysOfCheckpointsWhatIsNotThere) {
  expect_refused(run("[checkpoint]\nevry = 3\n"), ":2:1: checkpoint: unknown option `evry`; did you mean `every`?");
  expect_refused(run("[checkpoint]\nkeep = -1\n"), ":2:8: checkpoint: option `keep` must be from 0 to 1e+09, not -1");
}

TEST_F(BadManifest, NamesAnAxisThatIsNone) {
  for (const char* name : {"\"\"", "\"a b\"", "\"d\u00e4ta\""})
    EXPECT_NE(run(std::string("[mesh]\n") + name + " = 2\n").err.find(":2:1: the axis `"), std::string::npos) << name;
  expect_refused(run("[mesh]\n\"a b\" = 2\n"), ":2:1: the axis `a b` needs a name of letters, digits, `_` and `-`");
  expect_refused(run("[mesh]\ndata = 1_000_000\n"), ":1:1: host `localhost` is to start 1000000 ranks, whose ");
}

TEST_F(BadManifest, NamesProcessorsThatAreNone) {
  for (const std::string ranks : {"1", "2"}) {
    const auto with = [&](const std::string& cores) {
      return "[mesh]\ndata = " + ranks + "\n[[cluster.hosts]]\nname = \"localhost\"\nranks = " + ranks +
             "\ncores = \"" + cores + "\"\n";
    };
    expect_refused(run(with("zero")),
                   ":6:9: `cores` of host localhost: `zero` is no list of processors like \"0-3,8\"");
    expect_refused(run(with("3-1")), ":6:9: `cores` of host localhost: `3-1` is no list of processors like \"0-3,8\"");
    expect_refused(run(with("4000")),
                   ":6:9: `4000` names processor 4000, which this host lacks or this process may not use; there are ");
  }
  const std::string hosts =
      "[mesh]\ndata = 2\n[cluster]\nport = 4000\n[[cluster.hosts]]\nname = \"localhost\"\n"
      "[[cluster.hosts]]\nname = \"b\"\ncores = \"0-\"\n";
  expect_refused(run(hosts, {"--host-index", "0", "--secret-file", script_}),
                 ":9:9: `cores` of host b: `0-` is no list of processors like \"0-3,8\"");
}

TEST_F(BadManifest, HasAWrongType) {
  expect_refused(run("[mesh]\ndata = \"two\"\n"), ":2:8: `data` must be a whole number, not a string");
}

TEST_F(BadManifest, NamesAnUnknownPlugin) {
  expect_refused(run("[compute]\nplugin = \"nobody\"\n"), ":2:10: unknown compute plugin `nobody`; ");
  expect_refused(run("[compute]\nplugin = \"/nowhere/x.so\"\n"), ":2:10: /nowhere/x.so: no such file");
}

TEST_F(BadManifest, LacksTheOrderOfItsAxes) {
  expect_refused(run("[mesh]\na = 1\nb = 1\n"), ":1:1: a mesh of several axes needs `order`");
}

TEST_F(BadManifest, HasAMeshThatIsNotItsRanks) {
  expect_refused(run("[cluster]\nhosts = [{ name = \"localhost\", ranks = 4 }]\n[mesh]\ndata = 2\n"),
                 ":3:1: the mesh has 2 ranks, but the hosts have 4 ranks; make them equal");
}

TEST_F(BadManifest, HasABudgetThatIsNone) {
  const std::string wanted = "`activations_mb` must be a number of MiB";
  expect_refused(run("[memory]\nactivations_mb = \"64 MB\"\n"), ":2:18: " + wanted + ", not a string");
  expect_refused(run("[memory]\nactivations_mb = true\n"), ":2:18: " + wanted + ", not a boolean");
  for (const char* bad : {"0", "-3", "0.0", "1e-9", "2e9", "nan"})
    expect_refused(run(std::string("[memory]\nactivations_mb = ") + bad + "\n"),
                   ":2:18: " + wanted + " above 0 and up to 1e+09, not ");
  expect_refused(run("[memory]\nactivations = 64\n"),
                 ":2:1: unknown key `activations`; did you mean `activations_mb`?");
  expect_refused(run("memory = 64\n"), ":1:10: `memory` must be a table, not an integer");
}

TEST_F(BadManifest, HasOneTransportOfTwo) {
  expect_refused(
      run("[transport]\nintra_host = \"shm\"\n"),
      ":2:14: `intra_host` joins the ranks of each host; name what joins hosts by `inter_host`, or write `plugin`");
  expect_refused(
      run("[transport]\ninter_host = \"ucx\"\n"),
      ":2:14: `inter_host` joins hosts; name what joins the ranks of each host by `intra_host`, or write `plugin`");
  expect_refused(run("[transport]\nranks_per_host = 2\n"),
                 ":2:18: `ranks_per_host` cuts hosts for two transports; name them by `intra_host` and `inter_host`");
}

TEST_F(BadManifest, HasTransportsThatContradict) {
  const std::string two = "[transport]\nintra_host = \"shm\"\ninter_host = \"shm\"\n";
  expect_refused(
      run(two + "plugin = \"shm\"\n"),
      ":4:1: `plugin` names one transport for all ranks, `intra_host` and `inter_host` name two; leave out either");
  expect_refused(
      run(two + "tls = [\"tcp\"]\n"),
      ":4:1: `tls` is an option of one of two transports; write it into that one's table, as in inter_host = { "
      "plugin = \"NAME\", tls = ... }");
  expect_refused(run(two + "ranks_per_host = 3\n[mesh]\ndata = 2\n"),
                 ":4:18: `ranks_per_host` is 3, but the largest host, `localhost`, has 2; take at most that");
  expect_refused(run(two + "ranks_per_host = -1\n"),
                 ":4:18: transport `hierarchy`: option `ranks_per_host` must be from 0 to ");
  expect_refused(
      run(two + "between = \"shm\"\n"),
      ":4:11: transport `hierarchy`: `between` is an earlier name of `inter_host`, which is given too; leave out one");
}

TEST_F(BadManifest, HasATransportOfTwoThatIsNone) {
  const std::string inside = "[transport]\ninter_host = \"shm\"\nintra_host = ";
  expect_refused(run(inside + "\"smh\"\n"), ":3:14: unknown transport plugin `smh`; did you mean `shm`?");
  expect_refused(run(inside + "{ plugin = \"smh\" }\n"), ":3:25: unknown transport plugin `smh`; did you mean `shm`?");
  expect_refused(run(inside + "\"\"\n"), ":3:14: `intra_host` is empty");
  expect_refused(
      run(inside + "3\n"),
      ":3:14: `intra_host` must be a transport's name, or a table of its `plugin` and options, not an integer");
  expect_refused(run(inside + "{ segment = 3 }\n"), ":3:14: `intra_host` needs a `plugin`");
  expect_refused(run(inside + "{ plugin = \"shm\", segments = 3 }\n"),
                 ":3:43: transport `shm`: unknown option `segments`");
}

TEST_F(BadManifest, IsSpoiltByASet) {
  expect_refused(run("", {"--set", "comptue.threads=2"}),
                 "--set comptue.threads=2: unknown key `comptue`; did you mean `compute`?");
  expect_refused(run("", {"--set", "mesh"}), "--set mesh: needs KEY=VALUE");
}

}  // namespace
}  // namespace baleen::test
