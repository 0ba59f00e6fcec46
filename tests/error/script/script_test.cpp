/// \file What `baleen run` says of a wrong script: exit status 2, the user's own line first. Every single message is
/// tested beside the script host (tests/unit/script); these show that they reach the user whole.
#include <gtest/gtest.h>

#include <sstream>

#include "error/script/scripts.hpp"

namespace baleen::test {
namespace {

TEST_F(Scripts, SyntaxError) {
  expect_refused("local x =\nreturn = 1\n", script() + ":2: unexpected symbol near 'return'");
}

/// As editors of Windows save it.
TEST_F(Scripts, MayBeginWithAByteOrderMark) {
  const ProcessResult result = run("\xef\xbb\xbf" + job_with("nn.linear { out = 2 }"));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  expect_refused("\xef\xbb\xbflocal x =\nreturn = 1\n", script() + ":2: unexpected symbol near 'return'");
  for (const std::string mark : {"\xff\xfe", "\xfe\xff"})
    expect_refused(mark + "l", script() + ": is text in UTF-16; save it in UTF-8");
}

TEST_F(Scripts, NumbersThatAreNone) {
  const std::string job = job_with("nn.linear { out = 2 }");
  const auto with = [&](const std::string& option) {
    std::string text = job;
    return text.replace(text.find("batch = 2"), 9, "batch = 2, " + option);
  };
  expect_refused(with("clip_grad_norm = 0/0"),
                 script() + ":4: job: `clip_grad_norm` is no number (NaN); it must be a finite number");
  expect_refused(with("clip_grad_norm = 1/0"),
                 script() + ":4: job: `clip_grad_norm` is infinite; it must be a finite number");
  expect_refused(job_with("nn.sequential { nn.layer_norm { epsilon = 0/0 }, nn.linear { out = 2 } }"),
                 script() + ":6: layer_norm: `epsilon` is no number (NaN); it must be a finite number");
}

/// What a plugin says of its options together has the script's line too.
TEST_F(Scripts, OptionsOfAnOptimizerThatDoNotGoTogether) {
  std::string job = job_with("nn.linear { out = 2 }");
  job.replace(job.find("(\"sgd\")"), 7, "(\"sgd\", { nesterov = true })");
  expect_refused(job, script() + ":5: optimizer `sgd`: sgd: `nesterov` needs `momentum` above 0 and `dampening` 0");
}

TEST_F(Scripts, FunctionsThatAreNotCalled) {
  const std::string what = " is a function that makes one; call it, as in ";
  std::string job = job_with("nn.linear { out = 2 }");
  const auto with = [&](const std::string& old, const std::string& now) {
    std::string text = job;
    return text.replace(text.find(old), old.size(), now);
  };
  expect_refused(with("nn.cross_entropy {}", "nn.cross_entropy"),
                 script() + ":4: job: `loss`" + what + "cross_entropy { ... }");
  expect_refused(with("nn.linear { out = 2 }", "nn.linear"), script() + ":4: job: `model`" + what + "linear { ... }");
  expect_refused(with("batch = 2", "metrics = { a = nn.accuracy }, batch = 2"),
                 script() + ":4: job: the metric `a`" + what + "accuracy { ... }");
  expect_refused(with("(\"sgd\")", "(\"sgd\", { lr = baleen.cosine })"),
                 script() + ":5: optimizer `sgd`: `lr`" + what + "cosine { ... }");
  expect_refused(with("nn.linear { out = 2 }", "nn.sequential { nn.linear { out = 2 }, nn.relu }"),
                 script() + ":6: sequential: entry 2" + what + "relu { ... }");
  expect_refused(with("{ out = 2 }", "{ out = 2, init = baleen.init.normal }"),
                 script() + ":6: linear: `init`" + what + "normal(0.02)");
  expect_refused(
      with("nn.linear { out = 2 }", "function(x) return nn.linear { out = 2 } end"),
      script() + ":6: the model returns a layer, linear, and must return what it gives; call it, as in layer(x)");
  expect_refused(with("nn.linear { out = 2 }", "function(x) return nn.linear(x) end"),
                 script() + ":6: linear: it is called with a tensor, and must be made first, as in linear { ... } (x)");
}

/// Where no line of the script runs, the job's own line is named.
TEST_F(Scripts, OutputsThatAreNone) {
  expect_refused(job_with("function() return {} end"),
                 script() + ":4: cross_entropy: `x` is a table; it must be a tensor");
}

TEST_F(Scripts, ListsThatAreNone) {
  const std::string hole = " of the list is nil, and there is one behind it; is its name misspelt?";
  expect_refused(job_with("nn.sequential { nn.linear { out = 2 }, nn_relu, nn.linear { out = 2 } }"),
                 script() + ":6: sequential: entry 2" + hole);
  std::string job = job_with("nn.linear { out = 2 }");
  const auto with = [&](const std::string& old, const std::string& now) {
    std::string text = job;
    return text.replace(text.find(old), old.size(), now);
  };
  expect_refused(with("batch = 2", "plan = baleen.strategy('data'), batch = 2"),
                 script() +
                     ":4: job: `plan` has a field `name`, and must be a list, as in plan = { "
                     "baleen.strategy(name, { ... }) }");
  expect_refused(with("(\"sgd\")", "(\"sgd\", { groups = { match = '*' } })"),
                 script() +
                     ":5: optimizer `sgd`: `groups` has a field `match`, and must be a list, as in groups = { { "
                     "match = \"*.bias\", ... } }");
  expect_refused(with("(\"sgd\")", "(\"sgd\", { groups = { { match = { 'a', nil, 'b' } } } })"),
                 script() + ":5: optimizer `sgd`: group 1: `match`: entry 2" + hole);
  expect_refused(with("(\"sgd\")", "(\"sgd\", { lr = baleen.piecewise { points = { { 0, 1 }, nil, { 2, 1 } } } })"),
                 script() + ":5: piecewise: `points`: entry 2" + hole);
}

TEST_F(Scripts, FirstValuesThatAreNone) {
  const auto with = [](const std::string& init) {
    return job_with("nn.linear { out = 2, init = baleen.init." + init + " }");
  };
  const std::string at = script() + ":6: baleen.init";
  expect_refused(with("normal()"), at + ".normal: `deviation` is nil; it must be a number");
  expect_refused(with("normal(-1)"), at + ".normal: `deviation` is -1; it must be at least 0");
  expect_refused(with("normal(1e39)"), at + ".normal: `deviation` is 1e+39; it must be a finite number of fp32");
  expect_refused(with("uniform(1, -1)"), at + ".uniform: `high` is -1; it must be at least 1");
  expect_refused(with("uniforn(0, 1)"), at + ": unknown initialiser `uniforn`; did you mean `uniform`?");
}

TEST_F(Scripts, NamesThatTheLibraryLacks) {
  const auto refused = [&](const std::string& what, const std::string& message) {
    expect_refused("local x = require('baleen')." + what + " {}\n", script() + ":1: " + message);
  };
  refused("optimiser", "baleen: unknown field `optimiser`; did you mean `optimizer`?");
  refused("schedule.cosin", "baleen.schedule: unknown schedule `cosin`; did you mean `cosine`?");
  refused("ops.reluu", "baleen.ops: unknown op `reluu`; did you mean `relu`?");
  refused("parallel.layuot", "baleen.parallel: unknown function `layuot`; did you mean `layout`?");
}

TEST_F(Scripts, ALayerInPlaceOfATable) {
  expect_refused(job_with("nn.sequential(nn.linear { out = 2 })"),
                 script() +
                     ":6: sequential: it is given a layer, linear, in place of a table; write sequential { ... }, "
                     "with that inside");
}

TEST_F(Scripts, WeightsThatAreNone) {
  std::string job = job_with("nn.linear { out = 2 }");
  for (const std::string weight : {"0", "-1", "0/0", "1/0"}) {
    std::string text = job;
    text.replace(text.find("nn.cross_entropy {}"), 19, "function(x) return ops.sum(x), " + weight + " end");
    expect_refusal(run(text), {.begins = script() + ":4: the loss gives the weight ",
                               .parts = {", by which its sum is divided; it must be a finite number above 0"}});
  }
}

TEST_F(Scripts, EntriesOfATensor) {
  expect_refused(job_with("function(x) return x[1] end"),
                 script() + ":6: a tensor has no entry the number 1; cut it with baleen.ops.slice");
  expect_refused(job_with("function(x) return x.shap end"), script() + ":6: a tensor has no field or method `shap`");
}

TEST_F(Scripts, OperandsThatAreTooMany) {
  expect_refused(job_with("function(x) return ops.relu(x, 0.1) end"),
                 script() + ":6: relu: it takes 1 operand, but is given the number 0.1 too");
  EXPECT_EQ(run(job_with("function(x) return nn.linear { out = 2 } (-ops.neg(x)) end")).exit_code, 0);
}

/// Each is answered before the first step.
TEST_F(Scripts, SchedulesThatLeaveTheirRange) {
  std::string job = job_with("nn.linear { out = 2 }");
  job.replace(job.find("steps = 1"), 9, "steps = 500");
  const auto with = [&](const std::string& lr) {
    std::string text = job;
    return text.replace(text.find("(\"sgd\")"), 7, "(\"sgd\", { lr = " + lr + " })");
  };
  const std::string at = script() + ":5: optimizer `sgd`: option `lr` ";
  expect_refusal(run(with("baleen.linear { peak = 0.1, final = -0.1 }")),
                 {.begins = at + "must be from 0 to 1e+09, not -0.", .before = Before::kNothing});
  expect_refused(with("function(step) return step == 3 and -1 or 0.1 end"),
                 at + "must be from 0 to 1e+09, not -1 at step 3");
  expect_refused(with("function(step, steps) return steps - 1 - step > 0 and 0.1 or nil end"),
                 at + "gave nil at step 499; a schedule must give a finite number");
  // It is asked for no step that the job has not.
  std::string table = with("function(step) return ({ 0.1, 0.2 })[step + 1] end");
  table.replace(table.find("steps = 500"), 11, "steps = 2");
  EXPECT_EQ(run(table).exit_code, 0);
  EXPECT_EQ(run(table, {"--set", "mesh.data=2"}).exit_code, 0);
  // One between those that are looked at ends the run at its step.
  const ProcessResult late = run(with("function(step) return step == 27 and -1 or 0.1 end"));
  EXPECT_EQ(late.exit_code, 2);
  EXPECT_NE(late.err.find(at + "must be from 0 to 1e+09, not -1 at step 27"), std::string::npos) << late.err;
}

TEST_F(Scripts, NothingThatCanBeTrained) {
  std::string job = job_with("nn.linear { out = 2 }");
  job.replace(job.find("(\"sgd\")"), 7, "(\"sgd\", { groups = { { match = '*', frozen = true } } })");
  expect_refused(job, script() + ":4: no parameter is trained: all are frozen, or the loss depends on none");
}

TEST_F(Scripts, NamesOfLuaThatTheScriptUsesOtherwise) {
  std::string job = job_with("nn.linear { out = 2 }");
  const std::string others =
      "type, pairs, ipairs, next, select, string, table, math, setmetatable, require = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10\n";
  job.insert(job.find("return baleen.job"), others);
  job.insert(job.find("batch = 2"), "on_step = function(f, run) run:evaluate() end, ");
  job.replace(job.find("held_out = 0"), 12, "held_out = 0.5");
  const ProcessResult result = run(job);
  EXPECT_EQ(result.exit_code, 0) << result.err;
}

TEST_F(Scripts, ErrorsWithoutAText) {
  expect_refused("error()\n", script() + ":1: error(nil) was called; give it a text that says what is wrong");
  expect_refused("error({})\n", script() + ":1: error(table) was called; give it a text that says what is wrong");
}

TEST_F(Scripts, StepsOfASteps) {
  std::string job = job_with("nn.linear { out = 2 }");
  job.insert(job.find("batch = 2"), "loop = function(_, run) run:step(5) end, ");
  const ProcessResult result = run(job);
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find(script() + ":4: step: it takes nothing and makes one step, but is given the number 5; "
                                       "call it once for each step"),
            std::string::npos)
      << result.err;
}

/// They are allowed, since small data may have no row to hold out, and told.
TEST_F(Scripts, EvaluationsOfNoRowsAreTold) {
  std::string job = job_with("nn.linear { out = 2 }");
  EXPECT_EQ(run(job).err.find("held_out"), std::string::npos);
  for (const std::string option : {"evaluate", "on_evaluate"}) {
    std::string text = job;
    text.insert(text.find("batch = 2"), option + (option == "evaluate" ? " = { every = 1 }, " : " = print, "));
    const ProcessResult result = run(text);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_NE(result.err.find("warning: " + script() + ":4: job: `" + option +
                              "` does nothing, since the data holds out no row; raise its `held_out`, or leave `" +
                              option + "` out"),
              std::string::npos)
        << result.err;
  }
  std::string best = job;
  best.insert(best.find("batch = 2"), "checkpoint = { best = true, folder = '" + (folder_ / "c") + "' }, ");
  const ProcessResult result = run(best);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.err.find(":4: checkpoint: `best` names none, since no row is held out to measure it by"),
            std::string::npos)
      << result.err;
}

TEST_F(Scripts, BatchesOfMoreRowsThanThereAreAreTold) {
  std::string job = job_with("nn.linear { out = 2 }");
  job.replace(job.find("batch = 2"), 9, "batch = 4");
  EXPECT_EQ(run(job).err.find("more than once"), std::string::npos);
  job.replace(job.find("batch = 4"), 9, "batch = 5");
  const ProcessResult result = run(job);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.err.find("warning: " + script() +
                            ":4: job: `batch` is 5 and the data has 4 rows to train on, so each "
                            "step reads rows more than once"),
            std::string::npos)
      << result.err;
}

TEST_F(Scripts, WarmUpsThatNeverEndAreTold) {
  std::string job = job_with("nn.linear { out = 2 }");
  job.replace(job.find("(\"sgd\")"), 7, "(\"sgd\", { lr = baleen.cosine { peak = 0.1, warmup = 10 } })");
  job.replace(job.find("steps = 1"), 9, "steps = 10");
  const std::string told = ":4: job: the warm-up of `lr` takes 10 steps and the job has 10, so it never ends";
  EXPECT_NE(run(job).err.find("warning: " + script() + told), std::string::npos);
  EXPECT_EQ(run(job, {"--steps", "1"}).err.find("warm-up"), std::string::npos) << "a look";
  job.replace(job.find("steps = 10"), 10, "steps = 11");
  EXPECT_EQ(run(job).err.find("warm-up"), std::string::npos);
}

TEST_F(Scripts, LayersOfNothing) {
  expect_refused(job_with("function(x, fields) return nn.linear { name = 'own', out = 2 } (fields.feature) end"),
                 script() + ":6: own: it is called with nil; is the name of a field or variable misspelt?");
}

TEST_F(Scripts, DataOfOneClassIsTold) {
  const std::string told = "has one class in all rows that are trained on";
  std::string job = job_with("nn.linear { out = 2 }");
  EXPECT_EQ(run(job).err.find(told), std::string::npos);
  for (std::size_t at = 0; (at = job.find(", 1 }", at)) != std::string::npos;) job.replace(at, 5, ", 0 }");
  const ProcessResult result = run(job);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.err.find("warning: " + script() + ":4: job: the target `label` " + told), std::string::npos)
      << result.err;
}

TEST_F(Scripts, RuntimeErrorWithTheCallsThatLedThere) {
  expect_refused("local function make()\n  return nil + 1\nend\nlocal x = make()\n",
                 script() + ":2: attempt to perform arithmetic on a nil value\n  called from " + script() + ":4");
}

TEST_F(Scripts, NoJob) {
  expect_refused("print 'hello'\n",
                 script() + ": the script returns nothing; its last line must be `return baleen.job { ... }`");
}

TEST_F(Scripts, FewerOutputsThanClasses) {
  expect_refused(job_with("nn.linear { out = 1 }"),
                 script() +
                     ":6: the model gives 1 numbers for a row, and the data has 2 classes; give the last layer "
                     "`out = data.classes`");
}

TEST_F(Scripts, WrongShapesNameTheLayerAndBothShapes) {
  expect_refused(job_with("nn.sequential { nn.residual { name = 'wide', nn.linear { out = 3 } } }"),
                 script() +
                     ":6: wide: pointwise x0 + x1: dimension 1 is 3 in x1 [2, 3] and 2 before it, in [2, 2]; "
                     "extents must be equal or 1");
}

TEST_F(Scripts, UnknownOptionOfALayer) {
  expect_refused(job_with("nn.linear { out = 2, bais = false }"),
                 script() + ":6: linear: unknown option `bais`; did you mean `bias`?");
}

TEST_F(Scripts, ParameterOfALayerThatDoesNotSayHowItStarts) {
  expect_refused(
      job_with(
          "nn.layer { kind = 'own', forward = function(self, x) return x * self:parameter('gain', { 2 }, {}) end } {}"),
      script() + ":6: own: parameter `gain` needs `init`, how it starts, as in { init = baleen.init.normal(0.02) }");
}

TEST_F(Scripts, UnknownDataPlugin) {
  expect_refusal(run("local data = require('baleen').data\nlocal d = data.tabel {}\n"),
                 {.after_others = true, .parts = {script() + ":2: ", "did you mean `table`?"}});
}

TEST_F(Scripts, UnknownOptionOfDataAndOptimizer) {
  const ProcessResult data = run("local data = require('baleen').data\nlocal d = data.table { row = { { 1, 2 } } }\n");
  EXPECT_NE(data.err.find(script() + ":2: data `table`: unknown option `row`; did you mean `rows`?"), std::string::npos)
      << data.err;
  std::string text = job_with("nn.linear { out = 2 }");
  text.replace(text.find("\"sgd\""), 5, "\"sgd\", { momentumm = 0.9 }");
  const ProcessResult optimizer = run(text);
  EXPECT_NE(optimizer.err.find(script() + ":5: optimizer `sgd`: unknown option `momentumm`; did you mean `momentum`?"),
            std::string::npos)
      << optimizer.err;
}

TEST_F(Scripts, UnknownScriptArgument) {
  std::string text = job_with("nn.linear { out = baleen.arg('width', 2) }");
  expect_refused(text, "command line: unknown script argument `widht`; did you mean `width`?", {"--", "--widht", "3"});
}

TEST_F(Scripts, ATypedPathIsRelativeToTheWorkingFolder) {
  const TemporaryFolder elsewhere;
  elsewhere.write("points.csv", "1,2,0\n3,4,1\n5,6,0\n7,8,1\n");
  std::string text = job_with("nn.linear { out = 2 }");
  text.replace(text.find("{ rows"), text.find("held_out") - text.find("{ rows"),
               "{ path = baleen.arg('data', 'absent.csv'), ");
  const std::string script = folder_.write("train.lua", text);
  ProcessOptions there;
  there.folder = elsewhere.path();
  EXPECT_EQ(run_baleen({"run", script, "--", "--data", "points.csv"}, there).err, "");
  EXPECT_EQ(run_baleen({"run", script, "--", "--data=points.csv"}, there).exit_code, 0);
  EXPECT_NE(run(text).err.find(folder_ / "absent.csv"), std::string::npos);  // a script's own path: beside the script
}

/// A short batch is evaluated like any other.
TEST_F(Scripts, HeldOutRowsMayBeLessThanABatch) {
  std::string text = job_with("nn.linear { out = 2 }");
  text.replace(text.find("held_out = 0"), 12, "held_out = 0.25");
  const ProcessResult result = run(text);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("held out loss"), std::string::npos) << result.out;
}

TEST_F(Scripts, AGroupOfParametersThatNobodyHas) {
  std::string text = job_with("nn.sequential { name = 'head', nn.linear { out = 2 } }");
  text.replace(text.find("\"sgd\")"), 6, "\"sgd\", { groups = { { match = \"heat.*\", frozen = true } } })");
  expect_refused(text, script() +
                           ":5: a group of optimizer `sgd`: no parameter matches `heat.*`; did you mean "
                           "`head.*`?");
}

/// Monitors are told on a thread of their own; what a script prints stands where it was printed, on one rank and two.
TEST_F(Scripts, PrintBetweenTheLinesOfTheRun) {
  std::string text = job_with("nn.linear { out = 2 }, on_step = function(facts) print('printed ' .. facts.step) end");
  text.replace(text.find("steps = 1"), 9, "steps = 5");
  text.insert(text.find("return"), "print 'described'\n");
  for (const char* const ranks : {"1", "2"}) {
    const ProcessResult result = run(text, {"--set", std::string("mesh.data=") + ranks});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    std::vector<std::string> order;
    std::istringstream lines(result.out);
    for (std::string line; std::getline(lines, line);)
      if (line == "described" || line.starts_with("printed ") || line.starts_with("step ") ||
          line.starts_with("finished"))
        order.push_back(line.substr(0, line.find('/')));
    const std::vector<std::string> expected{"described", "step 1", "printed 1", "step 2", "printed 2", "step 3",
                                            "printed 3", "step 4", "printed 4", "step 5", "printed 5", "finished 5"};
    EXPECT_EQ(order, expected) << result.out;
  }
  const ProcessResult alone = run(text, {"--set", "monitors.console=false"});
  EXPECT_EQ(alone.out, "described\nprinted 1\nprinted 2\nprinted 3\nprinted 4\nprinted 5\n") << alone.err;
}

TEST_F(Scripts, ACallbackThatFails) {
  std::string text = job_with("nn.linear { out = 2 }, on_step = function()\n  error('enough')\nend");
  const ProcessResult result = run(text);
  EXPECT_NE(result.exit_code, 0);
  EXPECT_NE(result.err.find("error: " + script() + ":7: enough"), std::string::npos) << result.err;
}

/// Ids of 64 bits: what cannot take them says so and what does.
class ScriptsOfIds : public Scripts {
 protected:
  void expect_said(const std::string& text, const std::string& message) const {
    expect_refusal(run(text), {.after_others = true, .parts = {message}});
  }
  /// A job over a file of users and of lists of items; `model` stands in line 5.
  std::string job(const std::string& model, const std::string& options = "most = 3") const {
    folder_.write("ids.csv", "user,items,y\n1,2|3,0\n4,,1\n5,6|7|8,0\n9,1,1\n");
    return "local baleen = require 'baleen'\nlocal nn, ops = baleen.nn, baleen.ops\n"
           "local data = baleen.data.table { path = 'ids.csv', ids = { 'user' }, lists = { 'items' }, held_out = 0, " +
           options + " }\nreturn baleen.job { data = data, batch = 2, steps = 1, loss = nn.cross_entropy {},\n" +
           model + ",\noptimizer = baleen.optimizer('sgd') }\n";
  }
  const std::string remedy_ = " (int64 values are ids: `hash_bucket` makes rows of them, int32)";
};

TEST_F(ScriptsOfIds, AreNotComputedWith) {
  expect_said(job("model = function(user) return nn.linear { out = 2 }(user + 1) end"),
              script() + ":5: pointwise x0 + 1: x0 is int64 [2], whose 64 bits no float holds" + remedy_);
  expect_said(job("model = function(user) return ops.float(user) end"),
              "x0 is int64 [2], whose 64 bits no float holds" + remedy_);
  expect_said(job("model = function(user) return ops.softmax(user) end"),
              script() + ":5: softmax: x is int64 [2]; it must be floating" + remedy_);
}
TEST_F(ScriptsOfIds, AreNoRowsOfATable) {
  expect_said(job("model = nn.embedding { vocab = 9, dim = 2 }"), "ids is int64 [2]; it must be int32" + remedy_);
  expect_said(job("model = function(user) return user:hash_bucket {} end"), script() + ":5: hash_bucket: ");
}
TEST_F(ScriptsOfIds, ListsThatAreTooLongAreNamedWithTheirLine) {
  expect_said(job("model = nn.linear { out = 2 }", "most = 2"),
              folder_ / "ids.csv" + ":4: column `items` has a list of 3 ids, above `most` = 2; raise `most`");
}
TEST_F(ScriptsOfIds, PoolingNamesFieldsThatAreNotThere) {
  expect_said(job("model = nn.sequential { function(user) return ops.index({ 2, 3, 4 }, 2) end, nn.pooling { length = "
                  "'item_length' } }"),
              "unknown field of the data `item_length`; did you mean `items_length`?");
}
/// Numbers of scripts are doubles.
TEST_F(ScriptsOfIds, OfMoreThan53BitsAreNotRoundedOnTheirWayToPrograms) {
  const auto job_of = [](const std::string& inputs) {
    return "local baleen = require 'baleen'\nlocal ids = { dtype = 'int64', shape = { 2 } }\nreturn baleen.job {\n"
           "  programs = { hash = { inputs = { ids = ids }, run = function(i) return { ids = i.ids, rows = "
           "i.ids:hash_bucket { buckets = 9 } } end } },\n"
           "  loop = function(_, run) local out = run:run('hash', { ids = " +
           inputs + " }) print(out.ids[1], out.rows[1] == out.rows[2]) end }\n";
  };
  expect_said(job_of("{ 1, (1 << 53) + 1 }"),
              script() + ":5: run: input `ids` holds 9007199254740993; from a script come integers of up to 53 bits");
  expect_said(job_of("{ 1, 2.0 ^ 60 }"), "output `ids` of program `hash` holds an int64 of more than 53 bits");
  const ProcessResult result = run(job_of("{ -(1 << 53), -(1 << 53) }"));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("-9.007199254741e+15\ttrue"), std::string::npos) << result.out;
}

}  // namespace
}  // namespace baleen::test
