/// \file Jobs whose names or sizes would give wrong numbers, or a crash, are refused before they run.
#include "error/script/scripts.hpp"

namespace baleen::test {
namespace {

/// Each would stand in the place of a number of the run's own, or of another metric's.
TEST_F(Scripts, MetricsWithNamesThatAreTaken) {
  const auto with = [](const std::string& name) {
    std::string text = job_with("nn.linear { out = 2 }");
    return text.replace(text.find("batch = 2"), 9,
                        "metrics = { ['" + name + "'] = function(o) return ops.sum(o), 8 end }, batch = 2");
  };
  for (const std::string name : {"loss", "weight", "lr", "gradient_norm", "step", "step_ms", "forward_ms",
                                 "units_per_second", "held_out_x", "rank"})
    expect_refused(with(name), script() + ":4: job: the metric `" + name +
                                   "` has a name that the run gives itself; choose another");
  for (const std::string name : {"", "a.weight", "2nd", "two words", "-a"})
    expect_refused(with(name), script() + ":4: job: the metric `" + name +
                                   "` has a name that is none; one has letters, digits, `_` and `-`, and begins with a "
                                   "letter or `_`");
  for (const std::string name : {"top-5", "_a2", "losses"}) {
    const ProcessResult result = run(with(name));
    EXPECT_EQ(result.exit_code, 0) << result.err;
  }
}

/// Sizes whose bytes 64 bits do not count, or not together.
TEST_F(Scripts, TensorsThatNoMachineHolds) {
  const std::string message = " has more elements than can be counted";
  std::string batch = job_with("nn.linear { out = 2 }");
  batch.replace(batch.find("batch = 2"), 9, "batch = 1 << 60");
  expect_refused(batch, script() + ":4: input `features`: [1152921504606846976, 2]" + message);
  const ProcessResult layers = run(
      job_with("nn.sequential { nn.linear { out = 1 << 31 }, nn.linear { out = 1 << 31 }, nn.linear { out = 2 } }"));
  expect_refusal(layers, {.begins = script() + ":6: ", .parts = {"[2147483648, 2147483648]" + message}});
  expect_refused(
      "local baleen = require 'baleen'\nlocal ops = baleen.ops\nreturn baleen.job { programs = { a = {\n"
      "  inputs = { x = { shape = { 1 << 40, 1 << 40 } } }, run = function(i) return { y = ops.sum(i.x) } end } } }\n",
      script() + ":3: input `x`: [1099511627776, 1099511627776]" + message);
}

/// A target beyond the logits would end the run in its midst, when a batch first has it.
TEST_F(Scripts, ModelsOfFewerTokensThanTheDataHas) {
  const std::string job =
      "local baleen = require 'baleen'\nlocal nn = baleen.nn\n"
      "local data = baleen.data.synthetic { context = 8, vocab = 100 }\n"
      "return baleen.job { data = data, batch = 2, steps = 1, optimizer = baleen.optimizer('sgd'),\n"
      "  loss = nn.cross_entropy {}, model = nn.sequential {\n"
      "    nn.embedding { vocab = 50, dim = 4 }, nn.linear { out = 50 } } }\n";
  expect_refused(job,
                 script() +
                     ":5: the model gives 50 numbers for a token, and the data has 100 tokens; give the last layer "
                     "`out = data.vocab`, and embeddings `vocab = data.vocab`");
}

}  // namespace
}  // namespace baleen::test
