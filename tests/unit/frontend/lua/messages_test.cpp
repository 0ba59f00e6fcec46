/// \file What a user is told when a script is wrong: the line, the layer, the bad value, and the fix.
#include "script_fixture.hpp"

namespace baleen::testing {
namespace {

using Messages = ScriptTest;

const std::string kLinear = "nn.sequential { nn.embedding { vocab = 16, dim = 4 }, nn.linear { out = 16 } }";

TEST_F(Messages, SyntaxError) {
  EXPECT_EQ(error_of("local x = \nreturn = 1"), "train.lua:2: unexpected symbol near 'return'");
}

TEST_F(Messages, RuntimeError) {
  EXPECT_EQ(error_of("local t = nil\nprint(t.x)"), "train.lua:2: attempt to index a nil value (local 't')");
}

TEST_F(Messages, MissingScript) {
  auto script = Script::load(folder_ / "absent.lua", options_);
  ASSERT_FALSE(script);
  EXPECT_EQ(script.error().code, BALEEN_NOT_FOUND);
  EXPECT_EQ(script.error().text(), (folder_ / "absent.lua").string() + ": there is no such file");
  auto folder = Script::load(folder_, options_);
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().text(), folder_.string() + ": this is a folder; name the Lua file in it");
}

TEST_F(Messages, NoJob) {
  const std::string expected = "; its last line must be `return baleen.job { ... }`";
  EXPECT_EQ(error_of("local baleen = require 'baleen'"), "train.lua: the script returns nothing" + expected);
  EXPECT_EQ(error_of("return 3"), "train.lua: the script returns the number 3" + expected);
  EXPECT_EQ(error_of("return {}"), "train.lua: the script returns a table" + expected);
}

TEST_F(Messages, UnknownOptionOfALayer) {
  EXPECT_EQ(error_of("local nn = require('baleen').nn\nlocal l = nn.linear { out = 3, bais = false }"),
            "train.lua:2: linear: unknown option `bais`; did you mean `bias`?");
}

TEST_F(Messages, UnknownOptionOfAJob) {
  EXPECT_EQ(
      error_of(job_of(kLinear, "\ngradient_acumulation_steps = 2,")),
      "train.lua:4: job: unknown option `gradient_acumulation_steps`; did you mean `gradient_accumulation_steps`?");
  EXPECT_EQ(error_of(job_of(kLinear, "\nclip = 2, clip_grad_norm = 1,")),
            "train.lua:4: job: `clip` is an earlier name of `clip_grad_norm`, which is given too; leave out one");
}

TEST_F(Messages, UnknownOptionOfAnOp) {
  EXPECT_EQ(error_of(job_of("function(t) return ops.attention(t, t, t, { causl = true }) end")),
            "train.lua:6: attention: unknown option `causl`; did you mean `causal`?");
}

TEST_F(Messages, ArgumentsOfAnOpOfAPlugin) {
  const auto error = [&](const std::string& call) {
    return error_of(job_of("function(t) local x = ops.float(t) return " + call + " end"));
  };
  EXPECT_EQ(error("ops.softmax(x, -1)"),
            "train.lua:6: softmax: `options` is the number -1; it must be a table of options");
  EXPECT_EQ(error("ops.softmax(x, {}, 3)"),
            "train.lua:6: softmax takes x and a table of options; it was given 3 arguments");
  EXPECT_EQ(error("ops.cumsum(x, { dmi = 1 })"), "train.lua:6: cumsum: unknown option `dmi`; did you mean `dim`?");
  EXPECT_EQ(error("ops.cumsum(x, { dim = 1, reverse = 1 })"),
            "train.lua:6: cumsum: `reverse` is the number 1; it must be true or false");
  EXPECT_NE(error("ops.norm(x, x, nil, { kind = 'group' })").find("norm: `kind` is \"group\"; it must be one of"),
            std::string::npos);
  EXPECT_NE(error("ops.softmax_grad(x, x)").find("baleen.ops: unknown op `softmax_grad`"), std::string::npos)
      << "rules alone make it";
}

TEST_F(Messages, MissingOption) {
  EXPECT_EQ(error_of("require('baleen').nn.linear {}"), "train.lua:1: linear: option `out` is missing");
  EXPECT_EQ(error_of("require('baleen').nn.embedding { dim = 3 }"),
            "train.lua:1: embedding: option `vocab` is missing");
}

TEST_F(Messages, WrongType) {
  EXPECT_EQ(error_of("require('baleen').nn.linear { out = 'x' }"),
            "train.lua:1: linear: `out` is the string \"x\"; it must be an integer or a table");
  EXPECT_EQ(error_of("require('baleen').nn.dropout { p = 2 }"),
            "train.lua:1: dropout: `p` is 2; it must be at most 0.99");
  EXPECT_EQ(error_of(job_of(kLinear, "clip_grad_norm = '1',")),
            "train.lua:4: job: `clip_grad_norm` is the string \"1\"; it must be a number");
}

TEST_F(Messages, WrongChoice) {
  EXPECT_EQ(error_of("require('baleen').nn.mlp { activation = 'gelutanh' }"),
            "train.lua:1: mlp: `activation`: unknown choice `gelutanh`; did you mean `gelu_tanh`?");
}

TEST_F(Messages, UnknownLayerAndLibrary) {
  EXPECT_EQ(error_of("require('baleen').nn.liner {}"),
            "train.lua:1: baleen.nn: unknown layer `liner`; did you mean `linear`?");
  EXPECT_EQ(error_of("require('baleen').jobb {}"), "train.lua:1: baleen: unknown field `jobb`; did you mean `job`?");
}

TEST_F(Messages, WrongShapesNameTheLayerAndBothShapes) {
  const std::string error = error_of(job_of(R"((function()
    local shared = nn.linear { out = 16 }
    return nn.sequential { nn.embedding { vocab = 16, dim = 4 }, shared, shared }
  end)())"));
  EXPECT_EQ(error,
            "train.lua:7: linear.weight: the parameter has the shape [4, 16] since train.lua:7, and is asked "
            "for with [16, 16] in the train graph; a layer must be called with inputs of one shape");
}

TEST_F(Messages, WrongShapesOfAnOpInALayer) {
  const std::string error = error_of(job_of(R"(nn.sequential {
  nn.embedding { vocab = 16, dim = 4 },
  nn.repeated(2, function()
    return nn.residual { nn.linear { out = 5 } }
  end),
})"));
  EXPECT_EQ(error,
            "train.lua:9: blocks.0: pointwise x0 + x1: dimension 2 is 5 in x1 [2, 8, 5] and 4 before it, in "
            "[2, 8, 4]; extents must be equal or 1");
}

TEST_F(Messages, WrongShapesInTheUsersOwnFunction) {
  const std::string error = error_of(job_of(R"(function(tokens)
    local x = nn.embedding { vocab = 16, dim = 4 }(tokens)
    return ops.matmul("bsd,de->bse", x, ops.constant(1, { 5, 6 }))
  end)"));
  EXPECT_EQ(error,
            "train.lua:8: matmul \"bsd,de->bse\": letter d is 4 in the first input [2, 8, 4] and 5 in the "
            "second [5, 6]");
}

TEST_F(Messages, HeadsThatDoNotDivide) {
  EXPECT_EQ(error_of(job_of("nn.sequential { nn.embedding { vocab = 16, dim = 4 }, nn.attention { heads = 3 } }")),
            "train.lua:6: attention: a width of 4 does not divide into 3 heads");
  EXPECT_EQ(error_of("require('baleen').nn.attention { heads = 3, kv_heads = 2 }"),
            "train.lua:1: attention: 3 heads cannot share 2 heads of keys and values; give a multiple");
}

TEST_F(Messages, TooFewPositions) {
  EXPECT_EQ(error_of(job_of("nn.embedding { vocab = 16, dim = 4, positions = 7 }")),
            "train.lua:6: embedding: the sequence has 8 tokens, but `positions` is 7");
}

TEST_F(Messages, TwoLayersOfOneName) {
  EXPECT_EQ(error_of(job_of(R"(nn.sequential { nn.embedding { vocab = 16, dim = 4 },
    nn.linear { name = "a", out = 4 },
    nn.linear { name = "a", out = 4 } })")),
            "train.lua:8: two layers are called `a`; give one of them another name");
}

TEST_F(Messages, ALayerOutsideTheModel) {
  EXPECT_EQ(error_of("require('baleen').nn.linear { out = 3 }(1)"),
            "train.lua:1: linear: a layer can be called only while the job's model is described");
}

TEST_F(Messages, ATensorOfAnotherGraph) {
  const std::string error = error_of(job_of(R"((function()
    local embedding, kept = nn.embedding { vocab = 16, dim = 16 }
    return function(t)
      kept = kept or embedding(t)
      return kept * 2
    end
  end)())"));
  EXPECT_EQ(error,
            "train.lua:10: mul: `a` is a tensor of another graph than the evaluate graph that is described now; "
            "make it inside the model");
}

TEST_F(Messages, ALossThatIsNoNumber) {
  EXPECT_EQ(error_of(job_of(kLinear, "loss = function(x, y) return ops.cross_entropy(x, y), 1 end,")),
            "train.lua:4: `loss` has the shape [2, 8]; it must be a single number, a sum over the batch (use `sum`)");
  EXPECT_EQ(error_of(job_of(kLinear, "loss = function(x, y) return ops.sum(ops.cross_entropy(x, y)) end,")),
            "train.lua:4: the loss must return two values: a sum over the batch, and the weight to divide it by");
}

TEST_F(Messages, AWeightThatIsTrained) {
  EXPECT_EQ(error_of(job_of(kLinear, "loss = function(x, y) return ops.sum(ops.cross_entropy(x, y)), ops.sum(x) end,")),
            "train.lua:4: the loss's weight depends on the parameter `linear.bias`; it must depend on the batch alone, "
            "as a count of targets does");
}

TEST_F(Messages, DataThatFails) {
  EXPECT_EQ(error_of("local data = require('baleen').data\nlocal x = data.absent {}"),
            "train.lua:2: there is no data plugin `absent`");
  EXPECT_EQ(error_of("local x = require('baleen').data.fake { rows = { 1, 'a' } }"),
            "train.lua:1: data `fake`: option `rows` must hold numbers, but an entry is the string \"a\"");
  EXPECT_EQ(error_of("local x = require('baleen').data.fake { rows = { { 1, 2 }, { 3 } } }"),
            "train.lua:1: data `fake`: option `rows`: row 2 has 1 numbers, the rows before it have 2");
  EXPECT_EQ(error_of("local x = require('baleen').data.fake { f = function() return 1 end }"),
            "train.lua:1: data `fake`: option `f` is a function; data takes none");
  EXPECT_EQ(error_of("local x = require('baleen').data.fake {}.vocabulary"),
            "train.lua:1: a data set has no field `vocabulary`; it has vocab, classes, rows, held_out_rows, fields, "
            "unit, summary, encode and decode");
}

TEST_F(Messages, AFieldThatTheDataLacks) {
  EXPECT_EQ(error_of(job_of(kLinear, "target = 'target',")),
            "train.lua:4: job: `target`: unknown field `target`; did you mean `targets`?");
}

TEST_F(Messages, ScriptArguments) {
  EXPECT_EQ(error_of("require('baleen').arg('data')"),
            "train.lua:1: the script needs the argument --data; give it after `--`, as in: -- --data VALUE");
  options_.arguments = {"--dta", "x"};
  EXPECT_EQ(error_of("require('baleen').arg('data', 'y')\n" + job_of(kLinear)),
            "command line: unknown script argument `dta`; did you mean `data`?");
  options_.arguments = {"x"};
  EXPECT_EQ(error_of("require('baleen').arg('data', 'y')"),
            "command line: script argument `x`: write --name VALUE or --name=VALUE\n  called from train.lua:1");
  options_.arguments = {"--depth=many"};
  EXPECT_EQ(error_of("require('baleen').arg('depth', 4)"),
            "command line: argument --depth is `many`; it must be a number\n  called from train.lua:1");
}

TEST_F(Messages, FewerOutputsThanClasses) {
  const auto job = [](const std::string& loss, const std::string& outputs) {
    return R"(local baleen = require "baleen"
local nn = baleen.nn
return baleen.job { batch = 2, steps = 1, data = baleen.data.fake { fields = "features" },
  loss = )" +
           loss + ", optimizer = baleen.optimizer(\"o\"),\n  model = nn.linear { out = " + outputs + " } }";
  };
  EXPECT_EQ(error_of(job("nn.cross_entropy {}", "2")),
            "train.lua:5: the model gives 2 numbers for a row, and the data has 3 classes; give the last layer "
            "`out = data.classes`");
  for (const char* enough : {"3", "4"}) EXPECT_TRUE(loaded(job("nn.cross_entropy {}", enough))) << enough;
  EXPECT_TRUE(loaded(job("nn.cross_entropy { ignore_index = 2 }", "2")));
}

TEST_F(Messages, GeneratingWithoutTokens) {
  options_.generate = true;
  EXPECT_EQ(
      error_of(R"(local baleen = require "baleen"
local nn = baleen.nn
return baleen.job { batch = 2, steps = 1, data = baleen.data.fake { fields = "features" },
  loss = nn.cross_entropy {}, optimizer = baleen.optimizer("o"), model = nn.linear { out = 3 } })"),
      "train.lua:3: generating text needs data whose rows have a field `tokens` of token numbers; this job's data "
      "has none");
}

}  // namespace
}  // namespace baleen::testing
