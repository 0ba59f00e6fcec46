/// \file The training loop and the sampling loop, over a run that only counts.
#include <cmath>

#include "script_fixture.hpp"

namespace baleen::testing {
namespace {

const std::string kModel = "nn.sequential { nn.embedding { vocab = 16, dim = 4 }, nn.linear { out = 16 } }";

/// Writes down what is asked of it. The likeliest token after token t is t + 1.
class CountingRun : public TrainingRun {
 public:
  Result<Facts> step() override {
    if (steps_ == fail_at) return Error{BALEEN_IO, "the disk is gone", {}};
    calls += "s";
    return Facts{{"loss", 10.0 - static_cast<double>(steps_++)}};
  }
  Result<Facts> evaluate(std::int64_t batches) override {
    calls += "e" + std::to_string(batches);
    return Facts{{"loss", 0.5}};
  }
  std::int64_t steps_done() const override { return steps_; }
  /// That of a job that generates, or none.
  std::vector<ProgramInfo> programs() const override {
    if (!generates) return {};
    return {{"generate", {{"tokens", {BALEEN_I32, {1, 8}, {}}}}, {{"logits", {BALEEN_F32, {1, 8, 16}, {}}}}}};
  }
  Result<Outputs> run(const std::string& program, const Inputs& inputs) override {
    if (!inputs.contains("tokens")) return invalid("`" + program + "` takes tokens");
    const std::vector<double>& tokens = inputs.at("tokens");
    windows.emplace_back(tokens.begin(), tokens.end());
    std::vector<double> values(tokens.size() * 16, 0.0);
    for (std::size_t i = 0; i < tokens.size(); ++i) values[i * 16 + (static_cast<std::size_t>(tokens[i]) + 1) % 16] = 3;
    return Outputs{{"logits", {{1, static_cast<std::int64_t>(tokens.size()), 16}, values}}};
  }
  Status checkpoint() override {
    calls += "[checkpoint]";
    return {};
  }
  Status save(const std::string& path) override {
    calls += "[" + path + "]";
    return {};
  }

  bool print(std::string_view line) override {
    if (shows_prints) calls += "'" + std::string(line) + "'";
    return shows_prints;
  }

  bool shows_prints = false;
  std::string calls;
  std::vector<std::vector<std::int32_t>> windows;
  std::int64_t fail_at = -1;
  bool generates = false;

 private:
  std::int64_t steps_ = 0;
};

class Loop : public ScriptTest {
 protected:
  /// What the loop of a job with these options does; the error where it fails.
  std::string run_of(const std::string& options) {
    auto script = loaded(job_of(kModel, options));
    if (!script) return "";
    const Status status = script->train(run_);
    return status ? run_.calls : status.error().text();
  }
  CountingRun run_;
};

TEST_F(Loop, StepsAndEvaluatesAtTheEnd) { EXPECT_EQ(run_of("steps = 3,"), "ssse0"); }

TEST_F(Loop, EvaluatesEveryFewSteps) {
  EXPECT_EQ(run_of("steps = 5, evaluate = { every = 2, batches = 7 },"), "sse7sse7se7");
}

TEST_F(Loop, DoesNotEvaluateTwiceAtTheEnd) { EXPECT_EQ(run_of("steps = 4, evaluate = { every = 2 },"), "sse0sse0"); }

TEST_F(Loop, TellsTheCallbacks) {
  EXPECT_EQ(run_of(R"(steps = 2,
    on_step = function(facts, run) print(facts.step, facts.loss, run.step_count) end,
    on_evaluate = function(facts) print("held out", facts.loss) end,)"),
            "sse0");
  EXPECT_EQ(printed_, "1\t10.0\t1\n2\t9.0\t2\nheld out\t0.5\n");
}

/// What is printed before stays with the script's sink.
TEST_F(Loop, PrintsAmongWhatTheRunShows) {
  run_.shows_prints = true;
  auto script = loaded("print('described')\n" + job_of(kModel,
                                                       "steps = 2, on_step = function(facts) print(facts.step, "
                                                       "'done') end,"));
  ASSERT_TRUE(script && script->train(run_));
  EXPECT_EQ(run_.calls, "s'1\tdone's'2\tdone'e0");
  EXPECT_EQ(printed_, "described\n");
}

TEST_F(Loop, RunsTheJobsOwn) {
  EXPECT_EQ(run_of(R"(loop = function(job, run)
    assert(job.batch == 2)
    run:step()
    run:save("model")
    print(run)
  end,)"),
            "s[model]");
  EXPECT_EQ(printed_, "run after 1 steps\n");
}

TEST_F(Loop, PassesFailuresOn) {
  run_.fail_at = 1;
  auto script = loaded(job_of(kModel));
  const Status status = script->train(run_);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, BALEEN_IO);
  EXPECT_EQ(status.error().message, "the disk is gone");
}

TEST_F(Loop, NamesTheLineOfACallbackThatFails) {
  const std::string error = run_of("on_step = function() error('enough') end,");
  EXPECT_EQ(error, (folder_ / "train.lua").string() + ":5: enough");
}

TEST_F(Loop, RefusesWhatARunDoesNotHave) {
  EXPECT_EQ(
      run_of("loop = function(_, run) run:stop() end,"),
      (folder_ / "train.lua").string() +
          ":5: a run has no `stop`; it has step, step_count, evaluate, run, programs, logits, save and checkpoint");
  EXPECT_EQ(run_of("loop = function(_, run) run.step() end,"),
            (folder_ / "train.lua").string() + ":5: the run's functions are called with a colon, as in run:step()");
  EXPECT_EQ(
      run_of("loop = function(_, run) run:logits { 1 } end,"),
      (folder_ / "train.lua").string() + ":5: logits: the job has no generate graph; give the job `generate = {}`");
}

TEST_F(Loop, RefusesLayersWhileItTrains) {
  const std::string error = run_of("on_step = function() nn.linear { out = 3 }(1) end,");
  EXPECT_EQ(error, (folder_ / "train.lua").string() +
                       ":5: linear: a layer can be called only while the job's model is described");
}

TEST_F(Loop, WritesASampleAtTheEnd) {
  run_.generates = true;
  EXPECT_EQ(run_of("steps = 1, generate = { prompt = 'b', tokens = 3, temperature = 0 },"), "se0");
  EXPECT_EQ(printed_, "bcde\n");
}

TEST_F(Loop, SlidesTheWindowOverTheContext) {
  options_.generate = run_.generates = true;
  auto script = loaded(job_of(kModel));
  auto text = script->generate(run_, {"abcdefg", 3, 0});
  ASSERT_TRUE(text) << text.error().text();
  EXPECT_EQ(*text, "abcdefghij");
  using Window = std::vector<std::int32_t>;
  ASSERT_EQ(run_.windows.size(), 3u);
  EXPECT_EQ(run_.windows[0], (Window{0, 1, 2, 3, 4, 5, 6, 0}));
  EXPECT_EQ(run_.windows[1], (Window{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(run_.windows[2], (Window{1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST_F(Loop, SamplesWithTheFrequenciesOfTheSoftmax) {
  options_.generate = run_.generates = true;
  auto script = loaded(job_of(kModel));
  const int tokens = 4000;
  auto text = script->generate(run_, {"a", tokens, 1.5});
  ASSERT_TRUE(text) << text.error().text();
  int successors = 0;
  for (std::size_t i = 1; i < text->size(); ++i) successors += ((*text)[i - 1] - 'a' + 1) % 16 == (*text)[i] - 'a';
  const double expected = std::exp(3 / 1.5) / (std::exp(3 / 1.5) + 15);
  const double deviation = std::sqrt(expected * (1 - expected) / tokens);
  EXPECT_NEAR(static_cast<double>(successors) / tokens, expected, 5 * deviation);
}

TEST_F(Loop, SamplesTheSameTextForASeed) {
  options_.generate = run_.generates = true;
  std::string texts[3];
  for (int i = 0; i < 3; ++i) {
    options_.seed = i == 2 ? 8 : 7;
    texts[i] = *loaded(job_of(kModel))->generate(run_, {"a", 50, 1});
  }
  EXPECT_EQ(texts[0], texts[1]);
  EXPECT_NE(texts[0], texts[2]);
}

/// Before anything is trained.
TEST_F(Loop, RefusesAnEmptyPrompt) {
  const std::string error = error_of(job_of(kModel, "generate = { prompt = '' },"));
  EXPECT_NE(error.find("job: generate: `prompt` holds no token to go on from; give it at least one character"),
            std::string::npos)
      << error;
}

TEST_F(Loop, RunsProgramsByName) {
  run_.generates = true;
  EXPECT_EQ(run_of(R"(loop = function(_, run)
    local program = run.programs.generate
    print(program.inputs.tokens.dtype, table.concat(program.inputs.tokens.shape, "x"), program.outputs.logits.dtype)
    local out = run:run("generate", { tokens = { { 1, 2 }, { 3 } } }).logits
    print(out, #out, out[3], out[4], out[49], table.concat(out:values(3, 2), " "), #out:values())
    print(#run:run("generate", { tokens = run:run("generate", { tokens = { 5 } }).logits }).logits)
  end,)"),
            "");
  EXPECT_EQ(printed_,
            "int32\t1x8\tfp32\narray [1, 3, 16]\t48\t3.0\t0.0\tnil\t3.0 0.0\t48\n" + std::to_string(16 * 16) + "\n");
  EXPECT_EQ(run_.windows.at(0), (std::vector<std::int32_t>{1, 2, 3})) << "lists in lists are row-major";
}

TEST_F(Loop, RefusesInputsThatAreNoNumbers) {
  const std::string place = (folder_ / "train.lua").string() + ":5: ";
  const auto refused = [&](const std::string& call) { return run_of("loop = function(_, run) " + call + " end,"); };
  EXPECT_EQ(
      refused("run:run('generate', 3)"),
      place + "run: `inputs` is the number 3; it must be a table of numbers by name, as in { tokens = { 1, 2 } }");
  EXPECT_EQ(refused("run:run('generate', { { 1 } })"),
            place + "run: inputs are given by name, as in { tokens = { 1, 2 } }");
  EXPECT_EQ(refused("run:run('generate', { tokens = { 1, 'x' } })"),
            place + "run: input `tokens` holds the string \"x\"; it must be a list of numbers or an array");
  EXPECT_EQ(refused("local x = {} x[1] = x run:run('generate', { tokens = x })"),
            place + "run: input `tokens` has more than 8 lists in each other");
  EXPECT_EQ(refused("run:run('generate', { tokens = { 1 } }).logits:values(18)"),
            place + "values: `first` is the number 18; it must be a number of 1 to 17");
  EXPECT_EQ(refused("print(run:run('generate', { tokens = { 1 } }).logits.size)"),
            place + "an array has no `size`; it has shape, values and its elements by number");
}

}  // namespace
}  // namespace baleen::testing
