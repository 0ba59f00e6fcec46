/// \file Words to structs, and the flags that plugins contribute.
#include "frontend/cli/command_line.hpp"

#include <gtest/gtest.h>

namespace baleen::app {
namespace {

Option option(const std::string& name, baleen_option_type_t type, const std::string& cli) {
  Option out;
  out.name = name;
  out.type = type;
  out.cli = cli;
  return out;
}

Descriptor monitor(const std::string& name, std::vector<Option> options) {
  Descriptor out;
  out.kind = "monitor";
  out.name = name;
  out.options = std::move(options);
  return out;
}

template <class Options>
Options parse(const std::vector<std::string>& words, const std::vector<Descriptor>& plugins = {}) {
  const auto command = parse_command_line(words, plugins);
  if (!command) throw std::runtime_error(command.error().text());
  return std::get<Options>(*command);
}

std::string refused(const std::vector<std::string>& words, const std::vector<Descriptor>& plugins = {}) {
  const auto command = parse_command_line(words, plugins);
  return command ? "accepted" : command.error().text();
}

TEST(CommandLine, ReadsARun) {
  const auto run = parse<RunOptions>({"run", "train.lua", "--steps", "7", "--seed", "3", "--dtype", "fp64", "--save",
                                      "a", "--load", "b", "--print-passes", "--", "--data", "x", "y"});
  EXPECT_EQ(run.script, "train.lua");
  EXPECT_EQ(run.steps, 7);
  EXPECT_EQ(run.seed, 3u);
  EXPECT_EQ(run.dtype, "fp64");
  EXPECT_EQ(run.save, "a");
  EXPECT_EQ(run.load, "b");
  EXPECT_TRUE(run.passes.prints);
  EXPECT_EQ(run.script_args, (std::vector<std::string>{"--data", "x", "y"}));
}

TEST(CommandLine, ReadsWhichPartsAreLoaded) {
  const auto run =
      parse<RunOptions>({"run", "a.lua", "--load", "p", "--load-only", "a.*", "--load-only", "b", "--load-except",
                         "a.x", "--load-rename", "h.*=a.*", "--allow-missing", "b", "--allow-extra", "c"});
  EXPECT_EQ(run.parts.text(),
            "--load-only a.* --load-only b --load-except a.x --load-rename h.*=a.* --allow-missing b --allow-extra c");
  EXPECT_TRUE(parse<RunOptions>({"run", "a.lua", "--load", "p"}).parts.says_nothing());
  EXPECT_NE(refused({"infer", "a.lua", "--load", "p", "--outputs", "o", "--load-rename", "a"}).find("FROM=TO"),
            std::string::npos);
}

TEST(CommandLine, ReadsAPlan) {
  const auto plan = parse<PlanOptions>({"plan", "train.lua", "--json", "--exact", "--seed", "3", "--", "--data", "x"});
  EXPECT_EQ(plan.script, "train.lua");
  EXPECT_TRUE(plan.json && plan.exact);
  EXPECT_EQ(plan.seed, 3u);
  EXPECT_EQ(plan.script_args, (std::vector<std::string>{"--data", "x"}));
  EXPECT_FALSE(parse<PlanOptions>({"plan", "a.lua"}).json);
  EXPECT_NE(refused({"plan", "a.lua", "--jsn"}).find("did you mean `--json`?"), std::string::npos);
}

TEST(CommandLine, LeavesOpenWhatIsNotGiven) {
  const auto run = parse<RunOptions>({"run", "train.lua"});
  EXPECT_FALSE(run.steps || run.seed || run.dtype);
  EXPECT_TRUE(run.save.empty() && run.load.empty() && run.script_args.empty() && run.flags.empty());
}

TEST(CommandLine, ReadsTheOtherCommands) {
  const auto generate = parse<GenerateOptions>(
      {"generate", "a.lua", "--load", "p", "--prompt", "Hi", "--tokens", "5", "--temperature", "0"});
  EXPECT_EQ(generate.load, "p");
  EXPECT_EQ(generate.prompt, "Hi");
  EXPECT_EQ(generate.tokens, 5);
  EXPECT_EQ(generate.temperature, 0);
  EXPECT_EQ(generate.top_k, 0);
  EXPECT_EQ(generate.top_p, 1);
  const auto drawn =
      parse<GenerateOptions>({"generate", "a.lua", "--load", "p", "--top-k", "40", "--top-p", "0.9", "--stop", "\n\n"});
  EXPECT_EQ(drawn.top_k, 40);
  EXPECT_EQ(drawn.top_p, 0.9);
  EXPECT_EQ(drawn.stop, "\n\n");
  const auto infer = parse<InferOptions>(
      {"infer", "a.lua", "--load", "p", "--program", "embed", "--inputs", "in", "--outputs", "out"});
  EXPECT_EQ(infer.load, "p");
  EXPECT_EQ(infer.program, "embed");
  EXPECT_EQ(infer.inputs, "in");
  EXPECT_EQ(infer.outputs, "out");
  const auto evaluate = parse<EvaluateOptions>({"evaluate", "a.lua", "--load", "p", "--batches", "3", "--json"});
  EXPECT_EQ(evaluate.load, "p");
  EXPECT_EQ(evaluate.batches, 3);
  EXPECT_TRUE(evaluate.json);
  EXPECT_FALSE(parse<EvaluateOptions>({"evaluate", "a.lua", "--load", "p"}).batches);
  const auto predict = parse<PredictOptions>(
      {"predict", "a.lua", "--load", "p", "--data", "d.csv", "--out", "o.txt", "--format", "jsonl"});
  EXPECT_EQ(predict.data, "d.csv");
  EXPECT_EQ(predict.out, "o.txt");
  EXPECT_EQ(predict.format, "jsonl");
  const auto graph = parse<GraphOptions>({"graph", "a.lua", "--graph", "evaluate", "--dot"});
  EXPECT_EQ(graph.graph, "evaluate");
  EXPECT_TRUE(graph.dot);
  EXPECT_TRUE(parse<PluginsOptions>({"plugins", "--json"}).json);
  parse<DoctorOptions>({"doctor"});
}

TEST(CommandLine, WantsParametersAndOutputsToInfer) {
  EXPECT_EQ(refused({"infer", "a.lua", "--outputs", "o"}), "--load is required (see `baleen infer --help`)");
  EXPECT_EQ(refused({"infer", "a.lua", "--load", "p"}), "--outputs is required (see `baleen infer --help`)");
}

TEST(CommandLine, WantsParametersToGenerateFrom) {
  EXPECT_EQ(refused({"generate", "a.lua"}), "--load is required (see `baleen generate --help`)");
}

TEST(CommandLine, RefusesDtypesThatAreNotComputedIn) {
  EXPECT_NE(refused({"run", "a.lua", "--dtype", "int8"}), "accepted");
}

TEST(EarlyOptions, AreFoundAmongUnknownOptions) {
  const EarlyOptions early =
      parse_early({"run",   "--log-json", "o.jsonl", "train.lua", "--plugin-path", "p1",  "--plugin-path=p2",
                   "-m",    "c.toml",     "--set",   "a=1",       "--set",         "b=2", "--log-level",
                   "debug", "--steps",    "3",       "--",        "--plugin-path", "p3"});
  EXPECT_EQ(early.plugin_paths, (std::vector<std::filesystem::path>{"p1", "p2"}));
  EXPECT_EQ(early.manifest, "c.toml");
  EXPECT_EQ(early.sets, (std::vector<std::string>{"a=1", "b=2"}));
  EXPECT_EQ(early.level, BALEEN_DEBUG);
}

TEST(PluginFlags, ComeFromDescriptors) {
  Option many = option("tags", BALEEN_OPTION_STRING, "tag");
  many.flags = BALEEN_OPTION_MANY;
  const std::vector<Descriptor> plugins = {monitor(
      "lines", {option("path", BALEEN_OPTION_STRING, "log-lines"), many, option("every", BALEEN_OPTION_INT, "every"),
                option("flush", BALEEN_OPTION_BOOL, "flush"), option("hidden", BALEEN_OPTION_INT, "")})};
  const auto run = parse<RunOptions>(
      {"run", "--log-lines", "out", "--tag", "a", "--flush", "train.lua", "--tag=b", "--every", "5"}, plugins);
  EXPECT_EQ(run.script, "train.lua");
  ASSERT_EQ(run.flags.size(), 4u);
  EXPECT_EQ(run.flags[0].plugin, "lines");
  EXPECT_EQ(run.flags[0].option, "path");
  EXPECT_EQ(run.flags[0].value.data, UserValue::Data(std::string("out")));
  EXPECT_EQ(run.flags[0].value.where, "--log-lines");
  EXPECT_EQ(run.flags[1].value.data, UserValue::Data(std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(run.flags[2].value.data, UserValue::Data(std::int64_t{5}));
  EXPECT_EQ(run.flags[3].value.data, UserValue::Data(true));
}

TEST(PluginFlags, AreCheckedAgainstTheSchema) {
  const std::vector<Descriptor> plugins = {monitor("lines", {option("every", BALEEN_OPTION_INT, "every")})};
  EXPECT_EQ(refused({"run", "a.lua", "--every", "often"}, plugins),
            "--every: option `every` takes an integer, not a string (\"often\")");
  EXPECT_EQ(refused({"run", "a.lua", "--every", "1", "--every", "2"}, plugins),
            "--every: given 2 times; once is enough");
}

TEST(PluginFlags, CannotTakeAWordOfOurs) {
  const std::vector<Descriptor> plugins = {monitor("first", {option("x", BALEEN_OPTION_STRING, "steps")}),
                                           monitor("second", {option("x", BALEEN_OPTION_STRING, "same")}),
                                           monitor("third", {option("x", BALEEN_OPTION_STRING, "same")})};
  const auto run = parse<RunOptions>({"run", "a.lua", "--steps", "3", "--same", "v"}, plugins);
  EXPECT_EQ(run.steps, 3);
  ASSERT_EQ(run.flags.size(), 1u);
  EXPECT_EQ(run.flags[0].plugin, "second");
}

/// What is on by itself shows the run; a score below 0 means that it is asked for.
TEST(CommandLine, TellsHowToSilenceWhatShowsTheRun) {
  Descriptor shown = monitor("screen", {}), asked = monitor("file", {});
  asked.score = -1;
  const std::vector<Descriptor> plugins{shown, asked};
  const std::string help = parse<TextOnly>({"run", "--help"}, plugins).text;
  EXPECT_NE(help.find("warning or error; the run's own lines are left out by --set monitors.screen=false\n"),
            std::string::npos)
      << help;
  EXPECT_EQ(help.find("monitors.file"), std::string::npos) << help;
  EXPECT_EQ(parse<TextOnly>({"plan", "--help"}, plugins).text.find("monitors.screen"), std::string::npos);
}

TEST(PluginFlags, StandInTheHelp) {
  Option path = option("path", BALEEN_OPTION_STRING, "log-lines");
  path.help = "write lines to this file";
  const std::string help = parse<TextOnly>({"run", "--help"}, {monitor("lines", {path})}).text;
  EXPECT_NE(help.find("monitor `lines`:\n  --log-lines FILE"), std::string::npos) << help;
  EXPECT_NE(help.find("write lines to this file"), std::string::npos) << help;
}

}  // namespace
}  // namespace baleen::app
