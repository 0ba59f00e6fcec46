/// \file Where a training becomes NaN or infinite: the op, its line, the tensor and the rank are named, the step is
/// taken back, and what was good before it is saved beside.
#include <filesystem>
#include <fstream>

#include "parity/parity_run.hpp"
#include "support/damaged_model.hpp"

namespace baleen::test {
namespace {

struct Setting {
  std::string name;
  std::vector<std::string> words;
  std::string plugin = {};  ///< a strategy that it needs
  std::string more = {};    ///< of the job
};

void PrintTo(const Setting& setting, std::ostream* out) { *out << setting.name; }

class FirstNotFinite : public testing::TestWithParam<Setting> {
 protected:
  /// Exponentials that leave all bounds behind the third step.
  std::string script() const {
    return folder_.write("job.lua",
                         "local baleen = require 'baleen'\n"
                         "local nn, rows = baleen.nn, {}\n"
                         "for i = 1, 40 do rows[i] = { i / 40, i % 3, i % 2 } end\n"
                         "local mine = nn.layer { kind = 'mine', forward = function(self, x)\n"
                         "  return baleen.ops.exp(x * x)\n"
                         "end }\n"
                         "return baleen.job { " +
                             GetParam().more +
                             "\n"
                             "  model = nn.sequential { nn.linear { name = 'first', out = 8 }, mine {},\n"
                             "    nn.linear { name = 'last', out = 2 } }, loss = nn.cross_entropy {},\n"
                             "  data = baleen.data.table { rows = rows, held_out = 0 }, batch = 8, steps = 6,\n"
                             "  optimizer = baleen.optimizer('adamw', { lr = function(step)\n"
                             "    return step == 2 and 1e4 or 0.1\n"
                             "  end }) }\n");
  }
  ProcessResult run(const std::string& file, const std::string& saved, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words{"run", file, "--save", folder_ / saved};
    words.insert(words.end(), GetParam().words.begin(), GetParam().words.end());
    words.insert(words.end(), more.begin(), more.end());
    return run_baleen(words);
  }
  std::string read(const std::string& name) const {
    std::ifstream file(folder_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  const TemporaryFolder folder_;
};

TEST_P(FirstNotFinite, IsNamedAndTheStepTakenBack) {
  if (!GetParam().plugin.empty() && !has_plugin("strategy", GetParam().plugin))
    GTEST_SKIP() << "no strategy `" << GetParam().plugin << "` in this tree";
  const std::string file = script();
  const ProcessResult good = run(file, "good.safetensors", {"--steps", "3"});
  ASSERT_EQ(good.exit_code, 0) << good.err;
  const ProcessResult result = run(file, "model.safetensors");
  EXPECT_EQ(result.exit_code, 6) << result.err;
  const std::string place = file + ":5 made ";
  EXPECT_NE(result.err.find(" at step 4 (the loss of the step before was "), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("): `mine (pointwise)`"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find(place), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("numbers of `mine` infinite"), std::string::npos) << result.err;
  const std::string warning = "warning: the parameters after step 3 are saved in ";
  EXPECT_EQ(result.err.find(warning), result.err.rfind(warning)) << "one rank says so: " << result.err;
  EXPECT_FALSE(std::filesystem::exists(folder_ / "model.safetensors"));
  EXPECT_TRUE(read("model.after-step-3.safetensors") == read("good.safetensors")) << result.err;
  EXPECT_FALSE(read("good.safetensors").empty());
}

INSTANTIATE_TEST_SUITE_P(
    Of, FirstNotFinite,
    testing::Values(Setting{"OneRank", {}},  //
                    Setting{"Bf16", {"--set", "plan=[{strategy=\"precision\", dtype=\"bf16\"}]"}, "precision"},
                    Setting{"MicroBatches", {}, {}, "accumulate = 4, "}, Setting{"Data", {"--set", "mesh.data=2"}},
                    Setting{"Zero1", {"--set", "mesh.data=2", "--set", "plan=[{strategy=\"zero\", stage=1}]"}, "zero"},
                    Setting{"Zero3", {"--set", "mesh.data=2", "--set", "plan=[{strategy=\"zero\", stage=3}]"}, "zero"},
                    Setting{"Pipeline",
                            {"--set", "mesh.pipeline=2", "--set", "plan=[{strategy=\"pipeline\"}]"},
                            "pipeline",
                            "accumulate = 4, "},
                    Setting{"Offload",
                            {"--set", "plan=[{strategy=\"offload\", min_elements=4, parameters=[\"*\"]}]", "--set",
                             "offload.plugin=host"},
                            "offload"}),
    [](const auto& info) { return info.param.name; });

#ifdef BALEEN_EMULATES_CUDA
std::vector<std::string> on_emulated_cuda() {
  return {"--set", "compute.plugin=cuda",
          "--set", "compute.libraries=[\"" + emulated_folder() + "\"]",
          "--set", "compute.cache=\"" + emulated_folder() + "/cache\""};
}

INSTANTIATE_TEST_SUITE_P(On, FirstNotFinite, testing::Values(Setting{"EmulatedCuda", on_emulated_cuda()}),
                         [](const auto& info) { return info.param.name; });
#endif

/// One rank's rows are the cause. On the other, what came of them is summed up later, and is infinite there too.
class FirstOfRanks : public testing::TestWithParam<int> {};

TEST_P(FirstOfRanks, IsTheOpThatWasFirst) {
  if (!has_plugin("strategy", "data")) GTEST_SKIP() << "no strategy `data` in this tree";
  const TemporaryFolder folder;
  const std::string script =
      folder.write("job.lua",
                   "local baleen = require 'baleen'\nlocal ops, rows = baleen.ops, {}\n"
                   "for i = 1, 16 do rows[i] = { i / 16, i % 5 / 5, i == " +
                       std::to_string(4 * GetParam() + 2) +
                       " and 1e25 or 1 } end\n"
                       "\nlocal function square(d) return d * d end\n"
                       "return baleen.job { model = baleen.nn.linear { name = 'l', out = 1 },\n"
                       "  loss = function(o, t) return ops.sum(square(o:reshape { o.shape[1] } - t)), o.shape[1] end,\n"
                       "  data = baleen.data.table { rows = rows, task = 'regress', shuffle = false, held_out = 0 },\n"
                       "  batch = 8, steps = 2, optimizer = baleen.optimizer('sgd') }\n");
  const ProcessResult result =
      run_baleen({"run", script, "--set", "mesh.data=2", "--set", "plan=[{strategy=\"data\"}]"});
  EXPECT_EQ(result.exit_code, 6) << result.err;
  EXPECT_NE(result.err.find("`pointwise` of rank " + std::to_string(GetParam()) + " at " + script + ":5 made "),
            std::string::npos)
      << result.err;
  EXPECT_NE(result.err.find(" numbers of its result infinite"), std::string::npos) << result.err;
}
INSTANTIATE_TEST_SUITE_P(Rank, FirstOfRanks, testing::Values(0, 1));

class GivenNotFinite : public testing::Test {};

/// What was wrong before the step is no op's fault, and nothing of it is worth keeping.
TEST_F(GivenNotFinite, ParametersAreNamedAndNotSaved) {
  const TemporaryFolder folder;
  const std::string script = folder.write(
      "job.lua",
      "local baleen = require 'baleen'\nlocal rows = {}\n"
      "for i = 1, 40 do rows[i] = { i / 40, i % 3, i % 2 } end\n"
      "return baleen.job { model = baleen.nn.linear { name = 'l', out = 2 }, loss = baleen.nn.cross_entropy {},\n"
      "  data = baleen.data.table { rows = rows, held_out = 0 }, batch = 4, steps = 6,\n"
      "  optimizer = baleen.optimizer('sgd', { weight_decay = 1e9, lr = function(step) return step == 2 and 1e9 or 1e3 "
      "end }) }\n");
  const ProcessResult result = run_baleen({"run", script, "--save", folder / "model.safetensors"});
  EXPECT_EQ(result.exit_code, 6) << result.err;
  EXPECT_NE(result.err.find(" numbers of `l."), std::string::npos) << result.err;
  EXPECT_NE(result.err.find(" before the step; "), std::string::npos) << result.err;
  EXPECT_EQ(result.err.find("are saved in"), std::string::npos) << result.err;
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

/// Ops read a bias, and a table that is tied, through views.
TEST_F(GivenNotFinite, ParametersThatAreReadThroughViewsAreNamed) {
  const TemporaryFolder folder;
  const std::string features = folder.write(
      "features.lua",
      "local baleen = require 'baleen'\nlocal rows = {}\n"
      "for i = 1, 40 do rows[i] = { i / 40, i % 3, i % 2 } end\n"
      "return baleen.job { model = baleen.nn.linear { name = 'l', out = 2 }, loss = baleen.nn.cross_entropy {},\n"
      "  data = baleen.data.table { rows = rows, held_out = 0 }, batch = 4, steps = 2,\n"
      "  optimizer = baleen.optimizer('sgd') }\n");
  const std::string tokens = folder.write(
      "tokens.lua",
      "local baleen = require 'baleen'\nlocal nn = baleen.nn\n"
      "local table_of = nn.embedding { name = 'e', vocab = 12, dim = 4 }\n"
      "return baleen.job { model = nn.sequential { table_of, nn.linear { name = 'l', tied_to = table_of } },\n"
      "  loss = nn.cross_entropy {}, data = baleen.data.synthetic { context = 4, vocab = 12, rows = 16 },\n"
      "  batch = 4, steps = 2, optimizer = baleen.optimizer('sgd') }\n");
  for (const auto& [script, parameter] : std::vector<std::pair<std::string, std::string>>{
           {features, "l.bias"}, {features, "l.weight"}, {tokens, "e.weight"}}) {
    const std::string file = folder / "m.safetensors";
    const ProcessResult saved = run_baleen({"run", script, "--save", file});
    ASSERT_EQ(saved.exit_code, 0) << saved.err;
    set_to_nan(file, parameter);
    const ProcessResult result = run_baleen({"run", script, "--load", file});
    EXPECT_EQ(result.exit_code, 6) << result.err;
    EXPECT_NE(result.err.find(" numbers of `" + parameter + "` were NaN before the step; "), std::string::npos)
        << result.err;
  }
}

/// A step of a late update updates with the gradients of the step before, which were finite: so its parameters are
/// worth keeping, though the step itself is not finite. They are those that a run has which goes on.
TEST_F(GivenNotFinite, ALateUpdateKeepsItsParameters) {
  if (!has_plugin("strategy", "offload")) GTEST_SKIP() << "no strategy `offload` in this tree";
  for (const std::string plan : {"", "{strategy=\"zero\", stage=3}, "}) {
    if (!plan.empty() && !has_plugin("strategy", "zero")) continue;
    const TemporaryFolder folder;
    const auto run = [&](const std::string& name, const std::string& more) {
      const std::string script = folder.write(
          name + ".lua",
          "local baleen = require 'baleen'\nlocal nn, rows = baleen.nn, {}\n"
          "for i = 1, 40 do rows[i] = { i / 40, i % 3, i % 2 } end\n"
          "local mine = nn.layer { kind = 'mine', forward = function(self, x) return baleen.ops.exp(x * x) end }\n"
          "return baleen.job { " +
              more +
              "model = nn.sequential { nn.linear { name = 'first', out = 8 }, mine {}, nn.linear { name = 'last', out "
              "= 2 } },\n"
              "  loss = nn.cross_entropy {}, data = baleen.data.table { rows = rows, held_out = 0 }, batch = 8, steps "
              "= 5,\n"
              "  optimizer = baleen.optimizer('adamw', { lr = function(step) return step == 2 and 1e4 or 0.1 end }) "
              "}\n");
      std::vector<std::string> words{
          "run",    script,
          "--save", folder / (name + ".safetensors"),
          "--set",  "mesh.data=" + std::string(plan.empty() ? "1" : "2"),
          "--set",  "plan=[" + plan + "{strategy=\"offload\", min_elements=1000000, delay_update=true}]"};
      return run_baleen(words);
    };
    const ProcessResult result = run("model", "");
    EXPECT_EQ(result.exit_code, 6) << result.err;
    EXPECT_NE(result.err.find(" at step 5 (the loss of the step before was "), std::string::npos) << result.err;
    EXPECT_NE(result.err.find("the parameters after step 5 are saved in "), std::string::npos) << result.err;
    const ProcessResult on = run("on", "on_nan = 'continue', ");
    EXPECT_EQ(on.exit_code, 0) << on.err;
    const auto read = [&](const std::string& name) {
      std::ifstream file(folder / name, std::ios::binary);
      return std::string{std::istreambuf_iterator<char>(file), {}};
    };
    EXPECT_FALSE(read("on.safetensors").empty());
    EXPECT_TRUE(read("model.after-step-5.safetensors") == read("on.safetensors")) << plan;
  }
}

}  // namespace
}  // namespace baleen::test
