/// \file Builds sdk/template as a stranger would, against the installed SDK alone and with each compiler, then uses
/// what came out.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "baleen/data.h"
#include "support/compiler_cache.hpp"
#include "support/optimizer_run.hpp"
#include "support/plugin_under_test.hpp"
#include "support/process.hpp"
#include "support/temporary_folder.hpp"
#include "support/verified.hpp"

namespace baleen::test {
namespace {

struct Toolchain {
  std::string name, c, cxx;
  bool libcxx;
};

void PrintTo(const Toolchain& toolchain, std::ostream* out) { *out << toolchain.name; }

ProcessResult run(const std::vector<std::string>& command, const std::vector<std::string>& environment = {}) {
  ProcessOptions options;
  options.limit = std::chrono::minutes(5);
  options.environment = environment;
  return run_process(command, options);
}

/// The installed SDK and the template built against it. A folder of its own, so nothing of the tree can leak in.
class OutOfTree : public testing::TestWithParam<Toolchain> {
 protected:
  void SetUp() override {
    if (const std::string missing = missing_tool(); !missing.empty()) GTEST_SKIP() << missing;
    succeed({"cmake", "--install", build_dir(), "--component", "sdk", "--prefix", prefix_});
    ASSERT_FALSE(HasFatalFailure());
    // What its authors read is installed with it, and so is what they copy.
    for (const char* document :
         {"README.md", "ops.md", "layer_ops.md", "design.md", "glossary.md", "guides/add_an_op.md"})
      ASSERT_TRUE(std::filesystem::exists(prefix_ + "/share/baleen/sdk/" + document)) << document;
    std::filesystem::copy(prefix_ + "/share/baleen/sdk/template", source_);
    for (const std::string& name : kOptimizers) add_source("optimizer", name, "optimizers/" + name);
    add_source("strategy", "budget", "tests/interop/sdk");
    const std::vector<std::string> cache = compiler_cache(folder_.path());
    succeed({"cmake", "-S", source_, "-B", build_, "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_PREFIX_PATH=" + prefix_,
             "-DCMAKE_C_COMPILER=" + GetParam().c, "-DCMAKE_CXX_COMPILER=" + GetParam().cxx,
             "-DCMAKE_C_FLAGS=-Wall -Wextra -Wpedantic -Werror", "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Wpedantic -Werror",
             std::string("-DMY_LIBCXX=") + (GetParam().libcxx ? "ON" : "OFF")},
            cache);
    ASSERT_FALSE(HasFatalFailure());
    succeed({"cmake", "--build", build_}, cache);
  }

  /// Why this toolchain cannot be used here; empty where it can.
  std::string missing_tool() const {
    for (const std::string& tool : {std::string("cmake"), std::string("nm"), GetParam().c, GetParam().cxx})
      if (run({tool, "--version"}).exit_code != 0) return "missing: " + tool;
    if (!GetParam().libcxx) return {};
    const std::string source = folder_.write("probe.cpp", "#include <string>\nstd::string probe() { return \"x\"; }\n");
    const ProcessResult probe = run({GetParam().cxx, "-stdlib=libc++", "-nostdlib++", "-shared", "-fPIC", source, "-o",
                                     folder_ / "probe.so", "-Wl,-Bstatic", "-lc++", "-lc++abi", "-Wl,-Bdynamic"});
    return probe.exit_code == 0 ? "" : "missing: libc++ to link statically (Debian: libc++-dev libc++abi-dev)";
  }

  /// A plugin of this tree, of one source file that needs no more than the SDK.
  void add_source(const std::string& kind, const std::string& name, const std::string& folder) const {
    std::filesystem::copy(source_dir() + "/" + folder + "/" + name + ".cpp", source_);
    std::ofstream(source_ + "/CMakeLists.txt", std::ios::app)
        << "baleen_add_plugin(KIND " << kind << " NAME " << name << " SOURCES " << name << ".cpp ${runtime})\n";
  }

  static void succeed(const std::vector<std::string>& command, const std::vector<std::string>& environment = {}) {
    const ProcessResult result = run(command, environment);
    ASSERT_EQ(result.exit_code, 0) << command[0] << " " << command[1] << "\n" << result.out << result.err;
  }

  std::string plugin(const std::string& kind, const std::string& name) const {
    return build_ + "/baleen_" + kind + "_" + name + ".so";
  }

  void expect_listed() const {
    const ProcessResult result = run_baleen({"plugins", "--plugin-path", build_});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    for (const std::string name : {"descent ", "descent_c ", "rings ", "csv ", "products ", "replicas ", "plain ",
                                   "swap ", "loops ", "pipes ", "environment "})
      EXPECT_NE(result.out.find("  " + name), std::string::npos) << name << "in\n" << result.out;
    EXPECT_EQ(result.out.find("not used: " + build_), std::string::npos) << result.out;
  }

  static void expect_one_symbol(const std::string& file) {
    const ProcessResult result = run({"nm", "-D", "--defined-only", file});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    std::istringstream lines(result.out);
    std::vector<std::string> names;
    for (std::string address, type, name; lines >> address >> type >> name;) names.push_back(name);
    EXPECT_EQ(names, std::vector<std::string>{BALEEN_START_SYMBOL}) << file;
  }

  /// w - lr g, for two steps, by hand.
  static void expect_descent(const std::string& file) {
    const PluginUnderTest<baleen_optimizer_t> plugin(file);
    TestSettings settings(plugin.descriptor);
    OptimizerRun run(plugin, settings, {Tensor{{3}, {1, -2, 0.5}}});
    run.step({{1, 2, -4}}, 0.5);
    run.step({{1, 0, 1}}, 0.25);
    EXPECT_EQ(run.parameter(), (std::vector<double>{0.25, -3, 2.25}));
  }

  static void expect_rings(const std::string& file) {
    const PluginUnderTest<baleen_data_t> plugin(file);
    TestSettings settings(plugin.descriptor);
    settings.set("rows", 64).set("noise", 0.0);
    void* dataset = nullptr;
    ASSERT_EQ(plugin.table.create(plugin.host->get(), settings.get(), &dataset), BALEEN_OK) << plugin.host->failure();
    std::vector<float> points(128), single(2);
    std::vector<std::int32_t> labels(64), label(1);
    void* const all[] = {points.data(), labels.data()};
    ASSERT_EQ(plugin.table.read(dataset, BALEEN_TRAIN, 64, 64, all), BALEEN_OK);
    void* const one[] = {single.data(), label.data()};
    ASSERT_EQ(plugin.table.read(dataset, BALEEN_TRAIN, 64 + 17, 1, one), BALEEN_OK);
    EXPECT_EQ(single, (std::vector<float>{points[34], points[35]}));
    for (std::size_t i = 0; i < 64; ++i)
      EXPECT_NEAR(std::hypot(points[2 * i], points[2 * i + 1]), 1 + labels[i], 1e-6) << i;
    plugin.table.destroy(dataset);
  }

  /// Without settings the plugin's own code throws; the guard inside it catches, and only a status comes out.
  static void expect_caught_inside(const std::string& data, const std::string& optimizer) {
    const baleen_settings_t none = {sizeof none, 0, nullptr, 0, {"", 0}, 0, 1};
    const PluginUnderTest<baleen_data_t> rings(data);
    void* object = nullptr;
    EXPECT_EQ(rings.table.create(rings.host->get(), &none, &object), BALEEN_INTERNAL);
    EXPECT_TRUE(rings.host->failure().ends_with("` in the schema")) << rings.host->failure();
    EXPECT_THROW(throw std::runtime_error("ours"), std::runtime_error);  // both runtimes live side by side

    const PluginUnderTest<baleen_optimizer_t> descent(optimizer);
    ASSERT_EQ(descent.table.create(descent.host->get(), &none, &object), BALEEN_OK);
    FakeGraph graph(descent.host->get());
    baleen_update_t update{};
    update.size = sizeof update;
    update.settings = &none;
    update.parameter = graph.add(1.0);
    update.gradient = graph.add(1.0);
    EXPECT_EQ(descent.table.update(object, graph.get(), &update), BALEEN_INTERNAL);
    EXPECT_EQ(descent.host->failure(), "no option `lr` in the schema");
    descent.table.destroy(object);
  }

  /// A classifier learns the out-of-tree data with the out-of-tree optimizer, through the whole program: the held-out
  /// loss of two equally likely classes is ln 2, and the rings are far enough apart to get well under it.
  void expect_training(const std::string& optimizer) const {
    const std::string script = folder_.write("train.lua", R"(
local baleen = require "baleen"
local nn = baleen.nn
local rings = baleen.data.rings { rows = 1024, noise = 0.05 }
return baleen.job {
  model = nn.sequential { nn.linear { out = 32, init = baleen.init.fan_in(2) }, nn.tanh {},
                          nn.linear { out = rings.classes, init = baleen.init.fan_in(2) } },
  loss = nn.cross_entropy {}, data = rings, batch = 32, steps = 400, seed = 1,
  optimizer = baleen.optimizer(baleen.arg("optimizer", ""), { lr = 0.5 }),
}
)");
    const std::string log = folder_ / (optimizer + ".jsonl");
    const ProcessResult result =
        run_baleen({"run", script, "--plugin-path", build_, "--log-json", log, "--", "--optimizer", optimizer});
    ASSERT_EQ(result.exit_code, 0) << result.out << result.err;
    std::ifstream lines(log);
    double loss = 1e9;
    for (std::string line; std::getline(lines, line);)
      if (const auto at = line.find("\"held_out_loss\":"); at != std::string::npos)
        loss = std::stod(line.substr(at + std::string("\"held_out_loss\":").size()));
    EXPECT_LT(loss, 0.3) << result.out;
  }

  /// An optimizer with slots of its own shapes, or with products in its update, under tensor parallelism beside ZeRO.
  void expect_sharded(const std::string& optimizer) const {
    const std::string script = folder_.write("sharded.lua", R"(
local baleen = require "baleen"
local nn = baleen.nn
local rings = baleen.data.rings { rows = 512, noise = 0.05 }
return baleen.job {
  model = nn.sequential { nn.linear { out = 12, axes = { "ff" }, init = baleen.init.fan_in(2) }, nn.tanh {},
                          nn.linear { out = 6, init = baleen.init.fan_in(12) }, nn.tanh {},
                          nn.linear { out = rings.classes, init = baleen.init.fan_in(6) } },
  loss = nn.cross_entropy {}, data = rings, batch = 16, accumulate = 2, clip = 0.5, steps = 5, seed = 1,
  optimizer = baleen.optimizer(baleen.arg("optimizer", ""), { lr = 0.01 }),
}
)");
    const std::string manifest = source_dir() + "/examples/clusters/mixed.toml";
    const ProcessResult equal = run_baleen({"verify", script, "--plugin-path", build_, "-m", manifest, "--steps", "5",
                                            "--", "--optimizer", plugin("optimizer", optimizer)});
    expect_equal(equal, 5);
  }

  /// A strategy that has forward ops run again: on two ranks, with a budget that is the least that it says it needs.
  void expect_budget() const {
    const std::string gpt = source_dir() + "/tests/parity/gpt.lua";
    const auto with = [&](const std::vector<std::string>& command, const std::string& budget) {
      const std::string manifest =
          folder_.write("budget.toml",
                        "[cluster]\nhosts = [{ name = \"localhost\", ranks = 2 }]\n[mesh]\ndata = 2\n[[plan]]\n"
                        "strategy = \"data\"\n[[plan]]\nstrategy = \"budget\"\nbudget = " +
                            budget + "\n");
      std::vector<std::string> words{command[0], gpt, "--plugin-path", build_, "-m", manifest};
      words.insert(words.end(), command.begin() + 1, command.end());
      for (const std::string& word : {std::string("--"), std::string("--data"),
                                      source_dir() + "/tests/golden/whales.txt", std::string("--layers=4")})
        words.push_back(word);
      return run_baleen(words);
    };
    const ProcessResult refused = with({"plan", "--dtype", "fp64"}, "1");
    EXPECT_EQ(refused.exit_code, 3) << refused.out << refused.err;
    const std::string words = "give a budget of ";
    const std::size_t at = refused.err.find(words);
    ASSERT_NE(at, std::string::npos) << refused.err;
    const std::string least = std::to_string(std::stoull(refused.err.substr(at + words.size())));
    expect_equal(with({"verify", "--steps", "3"}, least), 3);
  }

  /// An op of the out-of-tree kind in a script: with its gradient, its letters under tensor parallelism beside ZeRO,
  /// its kernel, and its schema's messages.
  void expect_op() const {
    const auto script = [&](const std::string& name, const std::string& attributes) {
      return folder_.write(name, R"(
local baleen = require "baleen"
local nn, ops = baleen.nn, baleen.ops
local rings = baleen.data.rings { rows = 512, noise = 0.05 }
local function pairs_of(x) return ops.outer(x, x, )" +
                                     attributes + R"():reshape { x.shape[1], 64 } end
return baleen.job {
  model = nn.sequential { nn.linear { out = 8, axes = { "ff" }, init = baleen.init.fan_in(2) }, nn.tanh {}, pairs_of,
                          nn.linear { out = rings.classes, init = baleen.init.fan_in(2) } },
  loss = nn.cross_entropy {}, data = rings, batch = 16, steps = 5, seed = 1, optimizer = baleen.optimizer("adamw"),
}
)");
    };
    const std::string manifest = source_dir() + "/examples/clusters/mixed.toml";
    const ProcessResult equal = run_baleen(
        {"verify", script("outer.lua", "{ scale = 0.5 }"), "--plugin-path", build_, "-m", manifest, "--steps", "4"});
    expect_equal(equal, 4);
    expect_op_on_cuda(script("outer.lua", "{ scale = 0.5 }"));
    const ProcessResult wrong = run_baleen({"run", script("wrong.lua", "{ scale = 1e7 }"), "--plugin-path", build_});
    EXPECT_EQ(wrong.exit_code, 2) << wrong.err;
    EXPECT_NE(wrong.err.find("wrong.lua:5: outer: `scale` is 1e+07; it must be a number of -1e+06 to 1e+06"),
              std::string::npos)
        << wrong.err;
  }

  /// The same on two emulated devices, by the kind's CUDA text: what was compiled tells.
  void expect_op_on_cuda(const std::string& script) const {
    if (!has_plugin("compute", "cuda") || !std::filesystem::exists(emulated_folder() + "/libcuda.so.1")) return;
    const std::string cache = folder_ / "cache";
    const std::string manifest =
        folder_.write("cuda.toml",
                      "[cluster]\nhosts = [{ name = \"localhost\", ranks = 2 }]\n[mesh]\ntensor = 2\n[compute]\n"
                      "plugin = \"cuda\"\nlibraries = [\"" +
                          emulated_folder() + "\"]\ncache = \"" + cache + "\"\n");
    const ProcessResult equal = run_baleen({"verify", script, "--plugin-path", build_, "-m", manifest, "--steps", "3"});
    expect_equal(equal, 3);
    bool is_compiled = false;
    for (const auto& file : std::filesystem::directory_iterator(cache))
      is_compiled = is_compiled || read_file(file.path().string()).find("#line 1 \"outer.cu\"") != std::string::npos;
    EXPECT_TRUE(is_compiled) << "the expansion was computed";
  }

  /// Starts `baleen run` once for each rank of the list, as torchrun would; "exit CODE" stands
  /// in the output for each of them.
  ProcessResult start_ranks(const std::string& job, const std::string& list, std::vector<std::string> words) const {
    const std::string each =
        "job=$1; list=$2; shift 2; processes=; for rank in $list; do "
        "JOB=$job RANK=$rank LOCAL_RANK=$rank WORLD_SIZE=4 LOCAL_WORLD_SIZE=4 \"$@\" --set \"launcher.wait=5\" "
        "& processes=\"$processes $!\"; done; "
        "for process in $processes; do wait $process; echo \"exit $?\"; done";
    words.insert(words.begin(), {"bash", "-c", each, "bash", job, list, build_dir() + "/bin/baleen"});
    return run(words);
  }

  static std::size_t count(const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++found;
    return found;
  }

  std::vector<std::string> losses(const std::string& log) const {
    std::ifstream lines(log);
    std::vector<std::string> found;
    for (std::string line; std::getline(lines, line);)
      if (const auto at = line.find("\"loss\":"); at != std::string::npos)
        found.push_back(line.substr(at, line.find(',', at) - at));
    return found;
  }

  static constexpr const char* kRings = R"(
local baleen = require "baleen"
local nn = baleen.nn
local rings = baleen.data.rings { rows = 256, noise = 0.05 }
return baleen.job {
  model = nn.sequential { nn.linear { out = 8 }, nn.tanh {}, nn.linear { out = rings.classes } },
  loss = nn.cross_entropy {}, data = rings, batch = 16, steps = 5, seed = 1, optimizer = baleen.optimizer("adamw"),
}
)";

  /// Ranks that this program did not start: the same losses as those that it starts; and what is wrong with them is
  /// named.
  void expect_launcher() const {
    const std::string script = folder_.write("ranks.lua", kRings);
    const std::string local = folder_.write("local.toml", "[mesh]\ndata = 4\n");
    const std::string told =
        folder_.write("told.toml", "[launcher]\nplugin = \"environment\"\nfolder = \"jobs\"\n[mesh]\ndata = 4\n");
    const std::vector<std::string> command = {"run", script, "--plugin-path", build_, "-m"};
    const auto with = [&](const std::string& manifest, std::vector<std::string> more) {
      std::vector<std::string> words = command;
      words.push_back(manifest);
      words.insert(words.end(), more.begin(), more.end());
      return words;
    };
    const std::string log = folder_ / "told.jsonl", own = folder_ / "local.jsonl";
    const ProcessResult good = start_ranks("good", "0 1 2 3", with(told, {"--log-json", log}));
    EXPECT_EQ(count(good.out, "exit 0\n"), 4u) << good.out << good.err;
    const ProcessResult usual = run_baleen(with(local, {"--log-json", own}));
    EXPECT_EQ(usual.exit_code, 0) << usual.err;
    EXPECT_GE(losses(log).size(), 5u);
    EXPECT_EQ(losses(log), losses(own));

    const ProcessResult twins = start_ranks("twins", "0 1 1 2", with(told, {}));
    EXPECT_NE(twins.err.find("launcher `environment` says that two processes are rank 1 of 4: process "),
              std::string::npos)
        << twins.err;
    EXPECT_EQ(count(twins.out, "exit 0\n"), 0u) << twins.out;
    const ProcessResult missing = start_ranks("missing", "0 1 3", with(told, {}));
    EXPECT_NE(missing.err.find("no process says that it is rank 2 of 4: launcher `environment`: "), std::string::npos)
        << missing.err;
    EXPECT_EQ(count(missing.out, "exit 0\n"), 0u) << missing.out;
    const ProcessResult none = run_baleen(with(told, {}));
    EXPECT_EQ(none.exit_code, 2);
    EXPECT_NE(none.err.find("launcher `environment` starts no ranks: "), std::string::npos) << none.err;
    const ProcessResult more = start_ranks("more", "0 1 2 3", with(told, {"--set", "mesh.data=8"}));
    EXPECT_NE(more.err.find("the mesh has 8 ranks, and launcher `environment` has 4; make them equal"),
              std::string::npos)
        << more.err;
  }

  /// Four ranks learn by the out-of-tree transport, bit for bit, what they learn by the tree's own.
  void expect_transport() const {
    const std::string script = folder_.write("joined.lua", kRings);
    const std::string manifest = folder_.write("joined.toml", "[mesh]\ndata = 4\n");
    const auto run_by = [&](const std::string& transport) {
      const std::string log = folder_ / (transport + ".jsonl");
      const ProcessResult result = run_baleen({"run", script, "--plugin-path", build_, "-m", manifest, "--log-json",
                                               log, "--set", "transport.plugin=" + transport});
      EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
      return losses(log);
    };
    const std::vector<std::string> found = run_by("pipes");
    EXPECT_GE(found.size(), 5u);
    EXPECT_EQ(found, run_by("shm"));
  }

  /// Members of this tree, whose sources need no more than the SDK.
  const std::vector<std::string> kOptimizers{"adafactor", "muon"};
  const TemporaryFolder folder_;
  const std::string prefix_ = folder_ / "prefix", source_ = folder_ / "source", build_ = folder_ / "build";
};

TEST_P(OutOfTree, PluginsAreListedLoadAndCompute) {
  ASSERT_FALSE(HasFatalFailure());
  expect_listed();
  for (const std::string& file : {plugin("optimizer", "descent"), plugin("optimizer", "descent_c"),
                                  plugin("data", "rings"), plugin("op", "products"), plugin("compute", "loops"),
                                  plugin("transport", "pipes"), plugin("launcher", "environment")})
    expect_one_symbol(file);
  expect_descent(plugin("optimizer", "descent"));
  expect_descent(plugin("optimizer", "descent_c"));
  expect_rings(plugin("data", "rings"));
  expect_caught_inside(plugin("data", "rings"), plugin("optimizer", "descent"));
  for (const std::string optimizer : {"descent", "descent_c"}) expect_training(optimizer);
  for (const std::string& optimizer : kOptimizers) {
    expect_one_symbol(plugin("optimizer", optimizer));
    expect_sharded(optimizer);
  }
  expect_budget();
  expect_op();
  expect_transport();
  expect_launcher();
}

INSTANTIATE_TEST_SUITE_P(Sdk, OutOfTree,
                         testing::Values(Toolchain{"gcc", "gcc", "g++", false},
                                         Toolchain{"clang_libcxx", "clang", "clang++", true}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace baleen::test
