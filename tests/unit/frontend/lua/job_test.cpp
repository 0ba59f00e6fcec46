/// \file Jobs: what the plan gets from a script.
#include "baleen/dtype.hpp"
#include "script_fixture.hpp"

namespace baleen::testing {
namespace {

using Jobs = ScriptTest;

const std::string kModel = "nn.sequential { nn.embedding { vocab = 16, dim = 4 }, nn.linear { out = 16 } }";

TEST_F(Jobs, HaveTheNumbersOfTheScript) {
  auto script = loaded(job_of(kModel, "accumulate = 2, clip = 1.5,"));
  ASSERT_TRUE(script);
  EXPECT_EQ(script->steps(), 10);
  EXPECT_EQ(script->job().batch, 2);
  EXPECT_EQ(script->job().accumulate, 2);
  EXPECT_EQ(script->job().clip, 1.5);
  EXPECT_EQ(script->job().seed, 1u);
}

TEST_F(Jobs, TakeTheSeedOfTheCommandLineElseTheirOwn) {
  std::vector<std::uint64_t> opened;
  options_.data = [&](const MemberSpec& spec, std::uint64_t seed) {
    opened.push_back(seed);
    return FakeData::create(spec, seed);
  };
  EXPECT_EQ(loaded(job_of(kModel, "seed = 5,"))->job().seed, 1u);
  EXPECT_EQ(opened, std::vector<std::uint64_t>{1});
  opened.clear();
  options_.seed.reset();
  EXPECT_EQ(loaded(job_of(kModel, "seed = 5,"))->job().seed, 5u);
  EXPECT_EQ(opened, (std::vector<std::uint64_t>{0, 5})) << "the job's seed is known only after its data was opened";
  EXPECT_EQ(loaded(job_of(kModel))->job().seed, 0u);
}

TEST_F(Jobs, TakeTheStepsOfTheCommandLine) {
  options_.steps = 3;
  auto script = loaded(job_of(kModel));
  ASSERT_TRUE(script);
  EXPECT_EQ(script->steps(), 3);
}

TEST_F(Jobs, DescribeTheSameGraphsAtEveryLoad) {
  options_.generate = true;
  const std::string text = job_of(R"(nn.sequential { nn.embedding { vocab = 16, dim = 4 },
    nn.repeated(2, function() return nn.transformer_block { heads = 2, dropout = 0.1, rotary = true } end),
    nn.linear { out = 16 } })",
                                  "metrics = { accuracy = nn.accuracy {} },");
  auto first = loaded(text), second = loaded(text);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(hash(first->job().train), hash(second->job().train));
  EXPECT_EQ(hash(*first->job().evaluate), hash(*second->job().evaluate));
  EXPECT_EQ(hash(*first->job().generate), hash(*second->job().generate));
  EXPECT_NE(hash(first->job().train), hash(*first->job().evaluate)) << "dropout is on in one of them only";
}

TEST_F(Jobs, DescribeGraphsThatTheVerifierAccepts) {
  options_.generate = true;
  auto script = loaded(job_of(kModel));
  ASSERT_TRUE(script);
  for (const Graph* graph : {&script->job().train, &*script->job().evaluate, &*script->job().generate}) {
    const Status status = verify(*graph);
    EXPECT_TRUE(status) << status.error().text();
  }
}

TEST_F(Jobs, ShareParametersBetweenTheirGraphs) {
  options_.generate = true;
  auto script = loaded(job_of(kModel));
  ASSERT_TRUE(script);
  EXPECT_EQ(script->job().parameters.size(), 3u);
  for (const Graph* graph : {&script->job().train, &*script->job().evaluate, &*script->job().generate})
    EXPECT_EQ(ops_of(*graph, "parameter").size(), 3u);
}

TEST_F(Jobs, NameTheInputsAsTheFields) {
  auto script = loaded(job_of(kModel));
  ASSERT_TRUE(script);
  const Graph& graph = script->job().train;
  const auto inputs = ops_of(graph, "input");
  ASSERT_EQ(inputs.size(), 2u);
  const Value& tokens = graph.value(inputs[0]->outputs[0]);
  EXPECT_EQ(tokens.name, "tokens");
  EXPECT_EQ(tokens.dtype, BALEEN_I32);
  EXPECT_EQ(tokens.shape, (Shape{2, 8}));
  EXPECT_EQ(tokens.axes, (std::vector<std::string>{"batch", "seq"}));
  EXPECT_EQ(graph.value(inputs[1]->outputs[0]).name, "targets");
}

TEST_F(Jobs, EvaluateOnlyWhereRowsAreHeldOut) {
  std::string text = job_of(kModel);
  EXPECT_TRUE(loaded(text)->job().evaluate.has_value());
  text.replace(text.find("fake {}"), 7, "fake { held_out = 0 }");
  EXPECT_FALSE(loaded(text)->job().evaluate.has_value());
}

TEST_F(Jobs, GenerateOnRequest) {
  EXPECT_FALSE(loaded(job_of(kModel))->job().generate.has_value());
  for (bool asked_by_script : {true, false}) {
    options_.generate = !asked_by_script;
    auto script = loaded(job_of(kModel, asked_by_script ? "generate = {}," : ""));
    ASSERT_TRUE(script && script->job().generate);
    const Graph& graph = *script->job().generate;
    EXPECT_EQ(graph.value(graph.output("logits")).shape, (Shape{1, 8, 16}));
    EXPECT_EQ(graph.value(only(graph, "input")->outputs[0]).shape, (Shape{1, 8}));
  }
}

TEST_F(Jobs, ComputeInTheDtypeThatIsAskedFor) {
  options_.dtype = BALEEN_F64;
  auto script = loaded(R"(local baleen = require "baleen"
local nn = baleen.nn
return baleen.job { batch = 2, steps = 1, data = baleen.data.fake { fields = "features" },
  loss = nn.cross_entropy { ignore_index = 2 }, optimizer = baleen.optimizer("o"), model = nn.linear { out = 3 } })");
  ASSERT_TRUE(script);
  EXPECT_EQ(script->job().dtype, BALEEN_F64);
  for (const ParameterSpec& spec : script->job().parameters) EXPECT_EQ(spec.type.dtype, BALEEN_F64) << spec.name;
  const Graph& graph = script->job().train;
  for (OpId id : graph.ops())
    for (ValueId v : graph.op(id).outputs) {
      const bool allowed = graph.value(v).dtype == BALEEN_F64 || !is_floating(graph.value(v).dtype);
      EXPECT_TRUE(allowed) << print(graph);
    }
  EXPECT_EQ(parameters_of(*script), (std::vector<std::string>{"weight [4, 3]", "bias [3]"}));
}

TEST_F(Jobs, GiveMetricsTheirOwnWeights) {
  auto script = loaded(job_of(kModel, "metrics = { accuracy = nn.accuracy { ignore_index = 1 } },"));
  ASSERT_TRUE(script);
  std::vector<std::string> names;
  for (const GraphOutput& output : script->job().train.outputs()) names.push_back(output.name);
  EXPECT_EQ(names, (std::vector<std::string>{"loss", "weight", "metric.accuracy", "metric.accuracy.weight"}));
}

TEST_F(Jobs, TakeFunctionsAsModelAndLoss) {
  auto script = loaded(job_of(R"((function()
    local embedding, head = nn.embedding { vocab = 16, dim = 4 }, nn.linear { out = 16 }
    return function(tokens, fields)
      assert(rawequal(fields.tokens, tokens) and tokens.shape[2] == 8)
      return head(embedding(tokens))
    end
  end)())",
                              R"(loss = function(output, target, fields)
    assert(rawequal(fields.targets, target))
    return ops.sum(ops.cross_entropy(output, target)), 16
  end,)"));
  ASSERT_TRUE(script);
  EXPECT_EQ(parameters_of(*script),
            (std::vector<std::string>{"embedding.weight [16, 4]", "linear.weight [4, 16]", "linear.bias [16]"}));
}

TEST_F(Jobs, RefuseLayersThatAreMadeAnewForEachGraph) {
  EXPECT_EQ(error_of(job_of("function(t) return nn.linear { out = 16 }(nn.embedding { vocab = 16, dim = 4 }(t)) end")),
            "train.lua:6: embedding_2.weight: the train graph has no such parameter, and the evaluate graph asks for "
            "it; make layers outside the model's function, so that all graphs share their parameters");
  EXPECT_EQ(
      error_of(job_of("function(t) return nn.embedding { name = 'e', vocab = 16, dim = 16 }(t) end")),
      "train.lua:6: two layers are called `e`; make layers outside the model's function, so that all graphs share "
      "them");
}

}  // namespace
}  // namespace baleen::testing
