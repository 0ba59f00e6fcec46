/// \file What `baleen evaluate` cannot do is refused.
#include "parity/parity_run.hpp"
#include "support/damaged_model.hpp"
#include "support/refusal.hpp"

namespace baleen::test {
namespace {

class Evaluate : public testing::Test {
 protected:
  std::string job(const std::string& held_out) const {
    return folder_.write("job.lua",
                         "local baleen = require 'baleen'\n"
                         "local rows = {}\n"
                         "for i = 1, 40 do rows[i] = { i / 40, i % 3, i % 2 } end\n"
                         "return baleen.job {\n"
                         "  model = baleen.nn.linear { name = 'l', out = 2 }, loss = baleen.nn.cross_entropy {},\n"
                         "  data = baleen.data.table { rows = rows, held_out = " +
                             held_out +
                             " }, batch = 4, steps = 1,\n"
                             "  optimizer = baleen.optimizer('sgd', { lr = 0.1 }) }\n");
  }
  void expect_refused(const std::vector<std::string>& words, const std::string& message) const {
    expect_refusal(run_baleen(words), {.after_others = true, .parts = {message}, .before = Before::kNothing});
  }

  const TemporaryFolder folder_;
};

TEST_F(Evaluate, NeedsParameters) {
  expect_refused({"evaluate", job("0.5")}, "--load is required (see `baleen evaluate --help`)");
  expect_refused({"evaluate", job("0.5"), "--load", folder_ / "none.safetensors"}, "none.safetensors");
  expect_refused({"evaluate", job("0.5"), "--load", folder_ / "chekpoints"}, "chekpoints: no such file or folder");
}

TEST_F(Evaluate, NeedsRowsHeldOut) {
  const std::string file = folder_ / "m.safetensors";
  ASSERT_EQ(run_baleen({"run", job("0"), "--save", file}).exit_code, 0);
  expect_refused(
      {"evaluate", job("0"), "--load", file},
      "job.lua:4: its data holds out no row, so nothing can be evaluated; raise its `held_out`, or name a file "
      "with --data");
}

TEST_F(Evaluate, NamesTheParameterThatIsNotFinite) {
  const std::string file = folder_ / "m.safetensors", script = job("0.5");
  ASSERT_EQ(run_baleen({"run", script, "--save", file}).exit_code, 0);
  set_to_nan(file, "l.weight");
  const std::string message = "m.safetensors: `held_out_loss` is NaN (the parameter `l.weight` holds numbers that are";
  expect_refusal(run_baleen({"evaluate", script, "--load", file}),
                 {.exit_code = 6, .after_others = true, .parts = {message}, .before = Before::kNothing});
  std::string text = read_file(script);
  text.replace(text.find("steps = 1"), 9, "steps = 1, on_nan = 'continue'");
  const ProcessResult all = run_baleen({"evaluate", folder_.write("all.lua", text), "--load", file});
  EXPECT_EQ(all.exit_code, 0) << all.err;
  EXPECT_NE(all.out.find("nan"), std::string::npos) << all.out;
}

#ifdef BALEEN_TEST_ZERO
/// The second rank stores the number.
TEST_F(Evaluate, NamesAParameterThatAnotherRankStores) {
  const std::string file = folder_ / "m.safetensors", script = job("0.5");
  ASSERT_EQ(run_baleen({"run", script, "--save", file}).exit_code, 0);
  set_to_nan(file, "l.weight", 3);
  const std::string manifest = folder_.write(
      "two.toml", manifest_of({{"data", 2}}, "[[plan]]\nstrategy = \"zero\"\nstage = 3\nreplicate_below = 1\n"));
  const ProcessResult result = run_baleen({"evaluate", script, "--manifest", manifest, "--load", file});
  EXPECT_EQ(result.exit_code, 6) << result.err;
  EXPECT_NE(result.err.find("is NaN (the parameter `l.weight` holds numbers"), std::string::npos) << result.err;
}
#endif

/// The first one is told; the run goes on, and is saved.
TEST_F(Evaluate, OfATrainingTellsThatItsLossIsNotFinite) {
  std::string text = read_file(job("0.5"));
  text.replace(text.find("baleen.nn.cross_entropy {}"), 26,
               "function(o) return baleen.ops.sum(baleen.ops.exp(o * o)), 4 end");
  text.replace(text.find("lr = 0.1"), 8, "lr = 1e9");
  const ProcessResult result = run_baleen({"run", folder_.write("wide.lua", text)});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.err.find("warning: the held-out loss after step 1 is "), std::string::npos) << result.err;
}

TEST_F(Evaluate, OfTokensToWriteNeedsFiniteNumbers) {
  const std::string script =
      folder_.write("write.lua",
                    "local baleen = require 'baleen'\nlocal nn = baleen.nn\n"
                    "return baleen.job { model = nn.sequential { nn.embedding { name = 'e', vocab = 256, dim = 4 },\n"
                    "    nn.linear { name = 'l', out = 256 } }, loss = nn.cross_entropy {}, batch = 1, steps = 1,\n"
                    "  data = baleen.data.text { path = 'write.lua', context = 4, held_out = 0 },\n"
                    "  optimizer = baleen.optimizer('sgd', { lr = 0.1 }) }\n");
  const std::string file = folder_ / "m.safetensors";
  const ProcessResult saved = run_baleen({"run", script, "--save", file});
  ASSERT_EQ(saved.exit_code, 0) << saved.err;
  set_to_nan(file, "l.bias");
  expect_refusal(run_baleen({"generate", script, "--load", file, "--prompt", "lo"}),
                 {.exit_code = 6, .after_others = true, .parts = {"the model gives NaN for the next token"}});
}

TEST_F(Evaluate, NeedsALoss) {
  const std::string script =
      folder_.write("programs.lua",
                    "local baleen = require 'baleen'\n"
                    "return baleen.job { programs = { out = { inputs = { x = { shape = { 1, 2 } } },\n"
                    "  run = function(t) return { y = baleen.nn.linear { out = 2 }(t.x) } end } } }\n");
  const std::string file = folder_ / "m.safetensors";
  ASSERT_EQ(run_baleen({"run", job("0"), "--save", file}).exit_code, 0);
  expect_refused({"evaluate", script, "--load", file}, "the job has programs alone, and no `loss`");
}

TEST_F(Evaluate, TellsThatItsOutputIsFull) {
  const std::string script = job("0.5"), file = folder_ / "m.safetensors";
  ASSERT_EQ(run_baleen({"run", script, "--save", file}).exit_code, 0);
  const std::string manifest = folder_.write("two.toml", manifest_of({{"data", 2}}, ""));
  for (const std::string& more : {std::string(), " --manifest " + manifest}) {
    const ProcessResult full = run_process(
        {"sh", "-c", build_dir() + "/bin/baleen evaluate " + script + " --load " + file + more + " > /dev/full"});
    expect_refusal(full, {.after_others = true, .parts = {"standard output did not take all that was printed"}});
  }
}

}  // namespace
}  // namespace baleen::test
