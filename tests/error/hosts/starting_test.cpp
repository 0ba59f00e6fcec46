/// \file `baleen run` on several hosts: options that do not fit, hosts that cannot be started, and what ssh is told.
#include <cstdlib>

#include "hosts_run.hpp"
#include "support/refusal.hpp"

namespace baleen::test {
namespace {

class StartingHosts : public Hosts {
 protected:
  std::string manifest(const std::string& more = "") const {
    return folder.write("c.toml",
                        "[cluster]\nhosts = [{ name = \"a\", ranks = 1, address = \"127.0.0.1\" },\n"
                        "  { name = \"b\", ranks = 1, address = \"127.0.0.2\" }]\n" +
                            more + "[mesh]\ndata = 2\n[[plan]]\nstrategy = \"data\"\n");
  }
  static std::vector<std::string> run(const std::string& manifest, const std::vector<std::string>& more = {},
                                      const std::string& steps = "2") {
    std::vector<std::string> words = {
        "run", source_dir() + "/examples/01_hello/train.lua", "--manifest", manifest, "--steps", steps};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  static void expect_refused(const ProcessResult& result, const std::string& part, int code = 2) {
    expect_refusal(result, {.exit_code = code, .after_others = true, .parts = {part}, .before = Before::kNothing});
  }
};

TEST_F(StartingHosts, NeedIndexAndSecretTogether) {
  const std::string file = manifest("port = 7373\n");
  expect_refused(run_baleen(run(file, {"--host-index", "1"})), "--host-index needs --secret-file");
  expect_refused(run_baleen(run(file, {"--secret-file", secret})), "--secret-file needs --host-index");
  expect_refused(run_baleen(run(file, {"--host-index", "2", "--secret-file", secret})),
                 "--host-index 2: the manifest has 2 hosts, numbered from 0");
  expect_refused(run_baleen(run(file, {"--host-index", "-1", "--secret-file", secret})), "--host-index");
  expect_refused(run_baleen(run(manifest(), {"--host-index", "1", "--secret-file", secret})),
                 "hosts that are started by hand need a `port` in [cluster]");
  expect_refused(run_baleen(run(file, {"--host-index", "0", "--secret-file", "-"})), "it is no option for you");
  expect_refused(run_baleen(run(file, {"--host-index", "1", "--secret-file", "-"})),
                 "no word of the first host on standard input");
}

TEST_F(StartingHosts, NeedASecretThatIsOne) {
  const std::string file = manifest("port = 7373\n");
  expect_refused(run_baleen(run(file, {"--host-index", "1", "--secret-file", folder / "absent"})),
                 (folder / "absent") + ": the secret cannot be read: No such file or directory");
  expect_refused(run_baleen(run(file, {"--host-index", "1", "--secret-file", folder.write("open", secret)})),
                 "others may use this file");
  expect_refused(run_baleen(run(file, {"--host-index", "1", "--secret-file", secret_file("brief", "password")})),
                 "a secret of 8 characters; it needs 32 or more");
  const ProcessResult again = run_baleen({"secret", secret});
  expect_refused(again, secret + ": is there already; a secret is not overwritten");
}

TEST_F(StartingHosts, AreOfNoMeaningForOneHost) {
  const std::vector<std::string> one = {"run", source_dir() + "/examples/01_hello/train.lua", "--set", "mesh.data=2"};
  std::vector<std::string> words = one;
  words.insert(words.end(), {"--host-index", "0", "--secret-file", secret});
  expect_refused(run_baleen(words), "--host-index is for clusters of several hosts, and the manifest has one");
}

TEST_F(StartingHosts, ThatCannotBeReachedAreNamed) {
  const std::string unreachable =
      "start = [\"sh\", \"-c\", \"echo ssh: connect to host {address}: No route >&2; exit 255\"]\n";
  const ProcessResult result = run_baleen(run(manifest(unreachable)));
  expect_refused(result, "error: host b: `sh` could not reach it (exit code 255); what it said is above");
  EXPECT_TRUE(result.err.starts_with("[b] ssh: connect to host 127.0.0.2: No route\n")) << result.err;
  expect_refused(run_baleen(run(manifest("start = [\"no-such-shell\"]\n"))),
                 "there is no program `no-such-shell` to start hosts with");
}

TEST_F(StartingHosts, ThatLackTheFilesAreNamed) {
  const auto with = [&](const std::string& change) {
    return run_baleen(run(manifest("start = [\"sh\", \"-c\", \"line=$(printf %s \\\"$1\\\" | sed '" + change +
                                   "'); eval \\\"$line\\\"\", \"-\"]\n")));
  };
  expect_refused(with("s|cd [^ ]* 2|cd /no/such/folder 2|"), "error: host b: has no folder ");
  expect_refused(with("s|test -x [^ ]* |test -x /no/such/program |"), "error: host b: has no program ");
  expect_refused(with("s|--steps|--stairs|"), "error: host b: `sh` ended with exit code 2 before the host joined");
}

TEST_F(StartingHosts, WithAnotherManifestEndTheJob) {
  const std::string file =
      manifest("start = [\"sh\", \"-c\", \"eval \\\"$(printf %s \\\"$1\\\" | sed 's|c.toml|d.toml|')\\\"\", \"-\"]\n");
  folder.write("d.toml", read_file(file) + "[compute]\nthreads = 7\n");
  const ProcessResult result = run_baleen(run(file));
  expect_refused(result, "error: host b: `sh` ended with exit code 2 before the host joined");
  EXPECT_NE(result.err.find("`compute.threads = 7` there and "), std::string::npos) << result.err;
}

TEST_F(StartingHosts, NeedALauncherThatStartsThem) {
  const auto with = [&](const std::string& launcher) { return run_baleen(run(manifest("[launcher]\n" + launcher))); };
  expect_refused(with("plugin = \"local\"\n"),
                 "launcher `local`: it starts the ranks of one host, and the manifest has 2; name a launcher for "
                 "several in [launcher], or none");
  expect_refused(with("plugin = \"shh\"\n"), "did you mean `ssh`?");
  expect_refused(with("ports = 1\n"), "`ports`; did you mean `port`?");
  expect_refused(with("wait = 0\n"), "`wait`");
}

TEST_F(StartingHosts, MayBeOne) {
  const std::vector<std::string> one = {
      "run", source_dir() + "/examples/01_hello/train.lua", "--set", "mesh.data=2", "--steps", "1", "--set"};
  std::vector<std::string> usual = one, other = one;
  usual.push_back("launcher.plugin=local");
  other.push_back("launcher.plugin=ssh");
  EXPECT_EQ(run_baleen(usual).exit_code, 0);
  EXPECT_EQ(run_baleen(other).exit_code, 0);
  usual.insert(usual.end(), {"--set", "launcher.port=7373"});
  expect_refused(run_baleen(usual), "launcher `local`");
}

/// A stand-in for ssh in PATH. It keeps its words, environment and first line of input in the folder.
class FakeSsh : public StartingHosts {
 protected:
  void SetUp() override {
    const std::string bin =
        folder.write("bin/ssh", "#!/bin/sh\nprintf '%s\\n' \"$@\" > '" + (folder / "words") + "'\nenv > '" +
                                    (folder / "environment") +
                                    "'\nfor last; do :; done\nIFS= read -r line\n"
                                    "printf '%s\\n' \"$line\" > '" +
                                    (folder / "line") + "'\n(printf '%s\\n' \"$line\"; cat) | sh -c \"$last\"\n");
    std::filesystem::permissions(bin, std::filesystem::perms::owner_all);
    setenv("PATH", ((folder / "bin") + ":" + std::getenv("PATH")).c_str(), 1);
  }
};

TEST_F(FakeSsh, IsToldTheHostAndTheCommand) {
  const std::string script =
      folder.write("its script.lua",
                   "local baleen = require 'baleen'\nassert(baleen.arg('note') == \"it's  two words\")\n"
                   "local points = baleen.data.table { rows = { { 1, 0 }, { 2, 1 } }, held_out = 0 }\n"
                   "return baleen.job { model = baleen.nn.linear { out = 2 }, data = points, batch = 2, steps = 2,\n"
                   "  loss = baleen.nn.cross_entropy {}, optimizer = baleen.optimizer('sgd') }\n");
  const ProcessResult result = run_baleen({"run", script, "-m", manifest(), "--", "--note", "it's  two words"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("finished 2/2 steps"), std::string::npos) << result.out;
  const std::string words = read_file(folder / "words");
  EXPECT_TRUE(words.starts_with("-o\nBatchMode=yes\n-o\nConnectTimeout=10\nb\nexec sh -c ")) << words;
  EXPECT_NE(words.find("--host-index"), std::string::npos) << words;
}

TEST_F(FakeSsh, KeepsTheSecretInItsInput) {
  RunningJob job([&] {
    auto words = run(manifest(), {"--log-level", "debug"}, "1000000000");
    words.insert(words.begin(), build_dir() + "/bin/baleen");
    return words;
  }());
  ASSERT_TRUE(job.prints("step 1/")) << job.err();
  const std::string line = read_file(folder / "line"), found = line.substr(0, line.find(' '));
  EXPECT_EQ(found.size(), 64u);
  int seen = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    if (entry.path().filename().string().find_first_not_of("0123456789") != std::string::npos) continue;
    for (const char* name : {"cmdline", "environ"}) {
      const std::string text = read_file((entry.path() / name).string());
      seen += text.find("baleen") != std::string::npos;
      EXPECT_EQ(text.find(found), std::string::npos) << entry.path() / name;
    }
  }
  EXPECT_GE(seen, 4) << "this test looks at the wrong processes";
  EXPECT_EQ(read_file(folder / "words").find(found), std::string::npos);
  EXPECT_EQ(read_file(folder / "environment").find(found), std::string::npos);
  job.kill(SIGTERM);
  EXPECT_EQ(job.ends(), 128 + SIGTERM);
  EXPECT_EQ((job.out() + job.err()).find(found), std::string::npos);
}

}  // namespace
}  // namespace baleen::test
