/// \file Jobs: what the plan gets from a script.
#include "baleen/dtype.hpp"
#include "script_fixture.hpp"

namespace baleen::testing {
namespace {

using Jobs = ScriptTest;

const std::string kModel = "nn.sequential { nn.embedding { vocab = 16, dim = 4 }, nn.linear { out = 16 } }";

TEST_F(Jobs, HaveTheNumbersOfTheScript) {
  auto script = loaded(job_of(kModel, "gradient_accumulation_steps = 2, clip_grad_norm = 1.5,"));
  ASSERT_TRUE(script);
  EXPECT_EQ(script->steps(), 10);
  EXPECT_EQ(script->job().batch, 2);
  EXPECT_EQ(script->job().gradient_accumulation_steps, 2);
  EXPECT_EQ(script->job().clip_grad_norm, 1.5);
  EXPECT_EQ(script->job().seed, 1u);
}

TEST_F(Jobs, TakeEarlierNamesOfOptions) {
  auto script = loaded(job_of(kModel, "accumulate = 2, clip = 1.5,"));
  ASSERT_TRUE(script);
  EXPECT_EQ(script->job().gradient_accumulation_steps, 2);
  EXPECT_EQ(script->job().clip_grad_norm, 1.5);
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
  EXPECT_EQ(hash(first->job().train()), hash(second->job().train()));
  EXPECT_EQ(hash(first->job().graphs.at("evaluate").graph), hash(second->job().graphs.at("evaluate").graph));
  EXPECT_EQ(hash(first->job().graphs.at("generate").graph), hash(second->job().graphs.at("generate").graph));
  EXPECT_NE(hash(first->job().train()), hash(first->job().graphs.at("evaluate").graph))
      << "dropout is on in one of them only";
}

TEST_F(Jobs, DescribeGraphsThatTheVerifierAccepts) {
  options_.generate = true;
  auto script = loaded(job_of(kModel));
  ASSERT_TRUE(script);
  for (const Graph* graph : {&script->job().train(), &script->job().graphs.at("evaluate").graph,
                             &script->job().graphs.at("generate").graph}) {
    const Status status = verify(*graph);
    EXPECT_TRUE(status) << status.error().text();
  }
}

TEST_F(Jobs, ShareParametersBetweenTheirGraphs) {
  options_.generate = true;
  auto script = loaded(job_of(kModel));
  ASSERT_TRUE(script);
  EXPECT_EQ(script->job().parameters.size(), 3u);
  for (const Graph* graph :
       {&script->job().train(), &script->job().graphs.at("evaluate").graph, &script->job().graphs.at("generate").graph})
    EXPECT_EQ(ops_of(*graph, "parameter").size(), 3u);
}

TEST_F(Jobs, NameTheInputsAsTheFields) {
  auto script = loaded(job_of(kModel));
  ASSERT_TRUE(script);
  const Graph& graph = script->job().train();
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
  EXPECT_TRUE(loaded(text)->job().graphs.contains("evaluate"));
  text.replace(text.find("fake {}"), 7, "fake { held_out = 0 }");
  EXPECT_FALSE(loaded(text)->job().graphs.contains("evaluate"));
}

TEST_F(Jobs, GenerateOnRequest) {
  EXPECT_FALSE(loaded(job_of(kModel))->job().graphs.contains("generate"));
  for (bool asked_by_script : {true, false}) {
    options_.generate = !asked_by_script;
    auto script = loaded(job_of(kModel, asked_by_script ? "generate = {}," : ""));
    ASSERT_TRUE(script && script->job().graphs.contains("generate"));
    EXPECT_TRUE(script->job().graphs.at("generate").replicated);
    const Graph& graph = script->job().graphs.at("generate").graph;
    EXPECT_EQ(graph.value(graph.output("logits")).shape, (Shape{1, 8, 16}));
    EXPECT_EQ(graph.value(only(graph, "input")->outputs[0]).shape, (Shape{1, 8}));
  }
}

const std::string kEmbed = R"(programs = { embed = {
    inputs = { ids = { dtype = "int32", shape = { 3, 8 }, axes = { "batch", "seq" } }, scale = { shape = { 4 } } },
    run = function(inputs) return { embedding = table_of(inputs.ids) * inputs.scale } end } },)";
const std::string kSharedTable = "function(ids) return head(table_of(ids)) end";

/// A job whose layers stand beside the model, so that programs may use them.
std::string with_layers(std::string text) {
  const std::string after = "local nn, ops = baleen.nn, baleen.ops\n";
  const std::size_t at = text.find(after) + after.size();
  return text.insert(at, "local table_of, head = nn.embedding { vocab = 16, dim = 4 }, nn.linear { out = 16 }\n");
}

TEST_F(Jobs, HaveNamedProgramsOfTheirOwn) {
  options_.dtype = BALEEN_F64;
  auto script = loaded(with_layers(job_of(kSharedTable, kEmbed)));
  ASSERT_TRUE(script && script->job().graphs.contains("embed"));
  const JobGraph& program = script->job().graphs.at("embed");
  EXPECT_EQ(program.role, GraphRole::infer);
  EXPECT_FALSE(program.replicated);
  const Graph& graph = program.graph;
  EXPECT_TRUE(verify(graph));
  std::map<std::string, const Value*> inputs;
  for (const Op* op : ops_of(graph, "input")) inputs[graph.value(op->outputs[0]).name] = &graph.value(op->outputs[0]);
  ASSERT_EQ(inputs.size(), 2u);
  EXPECT_EQ(inputs.at("ids")->dtype, BALEEN_I32);
  EXPECT_EQ(inputs.at("ids")->shape, (Shape{3, 8}));
  EXPECT_EQ(inputs.at("ids")->axes, (std::vector<std::string>{"batch", "seq"}));
  EXPECT_EQ(inputs.at("scale")->dtype, BALEEN_F64) << "the job's own floating dtype";
  EXPECT_EQ(graph.value(graph.output("embedding")).shape, (Shape{3, 8, 4}));
  EXPECT_EQ(ops_of(graph, "parameter").size(), 1u) << "the table alone, which the train graph has too";
  EXPECT_EQ(script->job().parameters.size(), 3u);
}

TEST_F(Jobs, LookAtWhatTheyTrainWithStepsAndWithout) {
  const auto check = [&](const std::string& text) {
    const auto script = loaded(text);
    return script ? std::pair(script->job().check_every, script->job().check_memory)
                  : std::pair(std::int64_t{-1}, false);
  };
  const auto alone = [](const std::string& more) {
    return "local baleen = require 'baleen'\nlocal layer = baleen.nn.linear { out = 1 }\n"
           "return baleen.job { programs = { p = { inputs = { x = { shape = { 2, 3 } } },\n"
           "  run = function(given) return { y = layer(given.x) } end } }, " +
           more + " }\n";
  };
  EXPECT_EQ(check(job_of(kModel)), std::pair(std::int64_t{100}, true));
  EXPECT_EQ(check(alone("")), std::pair(std::int64_t{100}, true));
  const std::string given = "check = { every = 20, memory = false },";
  EXPECT_EQ(check(job_of(kModel, given)), std::pair(std::int64_t{20}, false));
  EXPECT_EQ(check(alone(given)), std::pair(std::int64_t{20}, false));
}

TEST_F(Jobs, RefuseProgramsThatAreNone) {
  const auto error = [&](const std::string& programs) {
    return error_of(with_layers(job_of(kSharedTable, "programs = { " + programs + " },")));
  };
  const std::string run = "run = function(inputs) return { x = table_of(inputs.ids) } end";
  EXPECT_EQ(error("train = { inputs = {}, " + run + " }"),
            "train.lua:5: job: program `train`: the name is the library's own; choose another");
  EXPECT_EQ(error("embed = { inputs = {} }"), "train.lua:5: job: program `embed`: option `run` is missing");
  EXPECT_EQ(
      error("embed = { inputs = { ids = { shape = { 0 } } }, " + run + " }"),
      "train.lua:5: job: program `embed`: input `ids`: `shape`: extent 1 is the number 0; it must be an integer of "
      "at least 1");
  EXPECT_EQ(error("embed = { inputs = { ids = { shape = { 1 }, dtype = 'int23' } }, " + run + " }"),
            "train.lua:5: job: program `embed`: input `ids`: `dtype`: unknown choice `int23`; did you mean `int32`?");
  EXPECT_EQ(error("embed = { inputs = { ids = { shape = { 1 } } }, run = function() return {} end }"),
            "train.lua:5: the program `embed` returns an empty table; it must return a table of tensors by name, as in "
            "{ logits = x }");
  EXPECT_EQ(error("embed = { inputs = { ids = { shape = { 1 } } }, run = function() return { x = 3 } end }"),
            "train.lua:5: `x` is the number 3; it must be a tensor");
  const std::string own = error("generate = { inputs = { ids = { shape = { 2, 8 }, dtype = 'int32' } }, " + run + " }");
  EXPECT_EQ(own, "") << "the name is free where the job generates nothing";
  options_.generate = true;
  EXPECT_EQ(error("generate = { inputs = { ids = { shape = { 2, 8 }, dtype = 'int32' } }, " + run + " }"),
            "train.lua:5: job: program `generate`: `generate = {}` and `baleen generate` make one of this name; choose "
            "another");
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
  const Graph& graph = script->job().train();
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
  for (const GraphOutput& output : script->job().train().outputs()) names.push_back(output.name);
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
  EXPECT_EQ(
      error_of(job_of("function(t) return nn.linear { out = 16 }(nn.embedding { vocab = 16, dim = 4 }(t)) end")),
      "train.lua:6: embedding_2.weight: no graph that is trained has such a parameter, and the evaluate graph asks for "
      "it; make layers outside the model's function, so that all graphs share their parameters");
  EXPECT_EQ(
      error_of(job_of("function(t) return nn.embedding { name = 'e', vocab = 16, dim = 16 }(t) end")),
      "train.lua:6: two layers are called `e`; make layers outside the model's function, so that all graphs share "
      "them");
}

}  // namespace
}  // namespace baleen::testing
