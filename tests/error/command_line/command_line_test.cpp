/// \file Slips on the command line.
#include <gtest/gtest.h>

#include <regex>

#include "support/process.hpp"
#include "support/refusal.hpp"
#include "support/temporary_folder.hpp"

namespace baleen::test {
namespace {

void expect_refused(const std::vector<std::string>& words, const std::string& message) {
  expect_refusal(run_baleen(words), {.whole = message});
}

TEST(CommandLine, NeedsACommand) { expect_refused({}, "A subcommand is required (see `baleen --help`)"); }

TEST(CommandLine, SuggestsTheNearestCommand) {
  expect_refused({"rnu", "x.lua"}, "unknown command `rnu`; did you mean `run`? (see `baleen --help`)");
}

TEST(CommandLine, SuggestsTheNearestOption) {
  expect_refused({"run", "x.lua", "--stpes", "3"},
                 "unknown option `--stpes`; did you mean `--steps`? (see `baleen run --help`)");
  expect_refused({"run", "x.lua", "--stpes=3"},
                 "unknown option `--stpes`; did you mean `--steps`? (see `baleen run --help`)");
}

/// Only a run has something to record.
TEST(CommandLine, OffersFlagsOfMonitorsToRunsAlone) {
  for (const std::string command : {"verify", "infer", "evaluate", "predict", "generate", "graph", "plan"})
    expect_refused({command, "x.lua", "--log-json", "y"},
                   "unknown option `--log-json`; if it is the script's, put it after `--`, as in `-- --log-json` (see "
                   "`baleen " +
                       command + " --help`)");
}

/// Where no script is run, no word can be a script's.
TEST(CommandLine, SaysWhereAScriptsOwnOptionsStand) {
  for (const std::string word : {"--data", "--data=y"})
    expect_refused({"run", "x.lua", word},
                   "unknown option `--data`; if it is the script's, put it after `--`, as in `-- --data` (see `baleen "
                   "run --help`)");
  expect_refused({"plugins", "--data", "y"}, "unknown option `--data` (see `baleen plugins --help`)");
}

TEST(CommandLine, RefusesLeftovers) {
  expect_refused({"run", "x.lua", "y"},
                 "unexpected `y`; a script's own words stand after `--` (see `baleen run --help`)");
  expect_refused({"plugins", "--", "y"}, "`--` has no meaning for `baleen plugins`, which runs no script");
}

TEST(CommandLine, NeedsAScript) {
  expect_refused({"run"}, "SCRIPT is required (see `baleen run --help`)");
  const TemporaryFolder folder;
  expect_refused({"run", folder / "absent.lua"}, (folder / "absent.lua") + ": no such script");
  expect_refused({"run", folder.path()}, folder.path() + ": not a file");
}

TEST(CommandLine, ChecksNumbers) {
  for (const std::string bad : {"-1", "abc", "1.5", "1x"})
    expect_refused({"run", "x.lua", "--steps=" + bad},
                   "--steps: must be a whole number of at least 0, not `" + bad + "` (see `baleen run --help`)");
  for (const std::string bad : {"x", "1.5", "99999999999999999999"})
    expect_refused({"run", "x.lua", "--seed", bad},
                   "--seed: must be a whole number of 64 bits, not `" + bad + "` (see `baleen run --help`)");
  expect_refused({"generate", "x.lua", "--load", "f", "--temperature=-1"},
                 "--temperature: must be a number of at least 0, not `-1` (see `baleen generate --help`)");
  for (const std::string bad : {"1.1", "-0.1", "nan", "x"})
    expect_refused({"generate", "x.lua", "--load", "f", "--top-p=" + bad},
                   "--top-p: must be a number from 0 to 1, not `" + bad + "` (see `baleen generate --help`)");
}

/// NaN is in no range.
TEST(CommandLine, RefusesTimesThatAreNoNumbers) {
  for (const std::string bad : {"nan", "-nan", "inf", "0", "1h"}) {
    expect_refused({"plan", "x.lua", "--measure-offload=" + bad},
                   "--measure-offload: must be a number from 0.05 to 60, not `" + bad + "` (see `baleen plan --help`)");
    expect_refused({"bench", "transport", "--seconds=" + bad},
                   "--seconds: must be a number from 0.001 to 3600, not `" + bad + "` (see `baleen bench --help`)");
  }
}

/// As of a shell's variable that is not set: nothing may go on as if the option were left out.
TEST(CommandLine, RefusesEmptyWords) {
  const auto said = [](const std::string& before) {
    return "behind `" + before + "` stands an empty word; is a variable of the shell not set?";
  };
  for (const std::string word :
       {"--save", "--load", "--manifest", "-m", "--resume", "--log-json", "--seed", "--steps", "--secret-file"})
    expect_refused({"run", "x.lua", word, ""}, said(word));
  for (const std::string word : {"--save=", "--load=", "--resume="}) expect_refused({"run", "x.lua", word}, said(word));
  expect_refused({"run", ""}, said("run"));
  expect_refused({"validate", ""}, said("validate"));
  expect_refused({"evaluate", "x.lua", "--load", "f", "--data", ""}, said("--data"));
  expect_refused({"evaluate", "x.lua", "--load", ""}, said("--load"));
  expect_refused({"predict", "x.lua", "--load", "f", "--data", "", "--out", "y.csv"}, said("--data"));
  expect_refused({"generate", "x.lua", "--load", "f", "--prompt", ""}, said("--prompt"));
  EXPECT_NE(run_baleen({"generate", "x.lua", "--load", "f", "--stop", ""}).err.find("no such script"),
            std::string::npos);
}

TEST(CommandLine, SaysWhatValidateLacks) {
  const TemporaryFolder folder;
  const std::string plugin = built("lib/baleen/plugins/baleen_data_text.so"), absent = folder / "absent.so";
  expect_refused({"validate"}, "FILE is required (see `baleen validate --help`)");
  expect_refused({"validate", absent}, absent + ": no such file");
  expect_refused({"validate", folder.write("a.so", "text")}, (folder / "a.so") + ": not ELF: it is no shared library");
  expect_refused({"validate", plugin, "--set", "context"}, "--set context: must be OPTION=VALUE");
  expect_refused({"validate", plugin, "--set", "contxt=3"},
                 "--set contxt=3: unknown option `contxt`; did you mean `context`?");
  expect_refused({"validate", plugin, "--set", "path=x", "--set", "context=3", "--set", "context=4"},
                 "--set context=4: `context` is set twice");
  expect_refused({"validate", plugin, "--set", "path=x", "--set", "context=8", "--only", "data.epoch"},
                 "--only: unknown case `data.epoch`; did you mean `data.epochs`?");
  for (const std::string bad : {"0", "nan", "inf", "4000", "x"})
    expect_refused({"validate", plugin, "--limit", bad},
                   "--limit: must be a number from 0.1 to 3600, not `" + bad + "` (see `baleen validate --help`)");
  expect_refused({"validate", plugin, "--manifest", "a.toml"},
                 "unknown option `--manifest` (see `baleen validate --help`)");
}

TEST(CommandLine, SaysWhyNoPluginIsWritten) {
  const TemporaryFolder folder;
  folder.write("taken", "");
  const auto refused = [&](std::vector<std::string> words, const std::string& message) {
    ProcessOptions options;
    options.folder = folder.path();
    words.insert(words.begin(), "new");
    expect_refusal(run_baleen(words, options), {.whole = message});
  };
  refused({"optimizer"}, "NAME is required (see `baleen new --help`)");
  refused({"optimiser", "mine"}, "unknown kind `optimiser`; did you mean `optimizer`?");
  refused({"data", "Mine"},
          "`Mine` is no name for a plugin: use at most 31 lower-case letters, digits and `_`, a letter first");
  refused({"data", "../mine"},
          "`../mine` is no name for a plugin: use at most 31 lower-case letters, digits and `_`, a letter first");
  refused({"data", "taken"}, "taken: is there already; choose another name, or remove it");
  refused({"data", "mine", "--c"}, "there is no template in C for kind `data`; leave --c out");
}

TEST(CommandLine, NamesEveryKindThatANewPluginMayBe) {
  const std::string help = run_baleen({"new", "--help"}).out;
  for (const std::string kind :
       {"optimizer", "data", "monitor", "op", "strategy", "checkpoint", "offload", "compute", "transport", "launcher"})
    EXPECT_NE(help.find(" " + kind), std::string::npos) << kind << "\n" << help;
}

TEST(CommandLine, HelpsWhateverElseIsWrong) {
  const ProcessResult result = run_baleen({"run", "--manifest", "/absent.toml", "--help"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err, "");
  EXPECT_NE(result.out.find("Usage: baleen run [OPTIONS] SCRIPT"), std::string::npos) << result.out;
}

TEST(CommandLine, HelpsWhereHelpIsTheFirstWord) {
  const auto out_of = [](const std::vector<std::string>& words) {
    const ProcessResult result = run_baleen(words);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out;
  };
  EXPECT_EQ(out_of({"help"}), out_of({"--help"}));
  for (const std::string command : {"run", "checkpoint", "doctor", "help"})
    EXPECT_EQ(out_of({"help", command}), out_of({command, "--help"}));
  expect_refused({"help", "rnu"}, "unknown command `rnu`; did you mean `run`? (see `baleen --help`)");
  expect_refused({"help", "run", "plan"}, "unexpected `plan` (see `baleen help --help`)");
}

TEST(CommandLine, ShowsOptionsAsTheyAreGiven) {
  const std::string all = run_baleen({"--help"}).out, run = run_baleen({"run", "--help"}).out;
  EXPECT_NE(all.find("\nUsage: baleen [OPTIONS] SUBCOMMAND\n"), std::string::npos) << all;
  for (const std::string line : {"--log-json FILE ", "--set KEY=VALUE ", "--load-only PATTERN "})
    EXPECT_NE(run.find("\n  " + line), std::string::npos) << line << run;
  EXPECT_EQ(run.find(" ... "), std::string::npos) << run;
  EXPECT_EQ(run.find("\n\n\n"), std::string::npos) << run;
  EXPECT_NE(run.find("--set monitors.console=false"), std::string::npos) << run;
  const std::string plugins = run_baleen({"plugins", "--help"}).out;  // whose names may be several
  EXPECT_NE(plugins.find("NAME..."), std::string::npos) << plugins;
}

TEST(CommandLine, TellsItsVersion) {
  for (const std::string word : {"--version", "-V"}) {
    const ProcessResult result = run_baleen({word});
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_TRUE(result.out.starts_with("baleen ")) << result.out;
  }
}

TEST(CommandLine, SuggestsTheNearestPlugin) {
  const ProcessResult result = run_baleen({"plugins", "nobody_has_this_name"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_TRUE(result.err.starts_with("error: unknown plugin `nobody_has_this_name`; ")) << result.err;
}

/// The numbers are counted by hand: 50 rows through 2 x 32, 32 x 32 and 32 x 2 weights.
TEST(CommandLine, GraphShowsLayersAndOpsOnRequest) {
  const std::string job = source_dir() + "/examples/01_hello/train.lua";
  const ProcessResult table = run_baleen({"graph", job});
  EXPECT_EQ(table.exit_code, 0) << table.err;
  const auto has = [&](const std::string& line) {
    EXPECT_TRUE(std::regex_search(table.out, std::regex(line))) << line << "\n" << table.out;
  };
  has("^layer +result +parameters +FLOP +FLOP backward +activations +where\n");
  has("\nlinear +fp32 \\[50, 32\\] +96 +6.4 k ");                           // 2 * 50 * 2 * 32
  has("\nlinear_2 +fp32 \\[50, 32\\] +1,056 +102 k .* .*/train.lua:13\n");  // 2 * 50 * 32 * 32
  has("\nlinear_3 +fp32 \\[50, 2\\] +66 .* 400 B ");                        // the logits
  has("\ntanh_2 +fp32 \\[50, 32\\] +- ");
  has("\ntotal +1,218 ");
  EXPECT_LT(table.out.find("\ntanh "), table.out.find("\nlinear_2 ")) << table.out;  // in the order of the data
  EXPECT_EQ(table.out.find("matmul("), std::string::npos) << table.out;
  EXPECT_EQ(table.out.find(".grad"), std::string::npos) << table.out;
  const ProcessResult ops = run_baleen({"graph", "--ops", job});
  EXPECT_NE(ops.out.find("matmul("), std::string::npos) << ops.out;
  EXPECT_EQ(run_baleen({"graph", "--ops", "--dot", job}).exit_code, 2);
}

/// A text and a flag have no range of numbers.
TEST(CommandLine, PluginsShowNoRangeWhereThereIsNone) {
  for (const char* name : {"precision", "nvme", "shm", "ssh"}) {
    const ProcessResult listed = run_baleen({"plugins", name});
    EXPECT_EQ(listed.out.find("string, 0 to"), std::string::npos) << listed.out;
    EXPECT_EQ(listed.out.find(", 0 to 0"), std::string::npos) << listed.out;
    EXPECT_FALSE(std::regex_search(listed.out, std::regex("\\((string|bool)[^)]* [0-9.]+ to [0-9.]+[,)]")))
        << listed.out;
  }
}

}  // namespace
}  // namespace baleen::test
