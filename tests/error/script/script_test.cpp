/// \file What `baleen run` says of a wrong script: exit status 2, the user's own line first. Every single message is
/// tested beside the script host (tests/unit/script); these show that they reach the user whole.
#include <gtest/gtest.h>

#include <sstream>

#include "support/process.hpp"
#include "support/refusal.hpp"
#include "support/temporary_folder.hpp"

namespace baleen::test {
namespace {

class Scripts : public ::testing::Test {
 protected:
  /// `baleen run` of the text, and of the words after it.
  ProcessResult run(const std::string& text, const std::vector<std::string>& words = {}) const {
    std::vector<std::string> all{"run", folder_.write("train.lua", text)};
    all.insert(all.end(), words.begin(), words.end());
    return run_baleen(all);
  }
  void expect_refused(const std::string& text, const std::string& message, const std::vector<std::string>& words = {}) {
    expect_refusal(run(text, words), {.whole = message});
  }
  std::string script() const { return folder_ / "train.lua"; }

  const TemporaryFolder folder_;
};

/// A whole job over four points, with `model` from line 6 on.
std::string job_with(const std::string& model) {
  return R"(local baleen = require "baleen"
local nn, ops = baleen.nn, baleen.ops
local points = baleen.data.table { rows = { { 1, 2, 0 }, { 3, 4, 1 }, { 5, 6, 0 }, { 7, 8, 1 } }, held_out = 0 }
return baleen.job { data = points, batch = 2, steps = 1, loss = nn.cross_entropy {},
  optimizer = baleen.optimizer("sgd"), model =
)" + model +
         "\n}\n";
}

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
