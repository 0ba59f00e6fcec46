/// \file Layers: the shapes they give, the parameters they make, and the ops they stand for.
#include <cmath>

#include "script_fixture.hpp"

namespace baleen::testing {
namespace {

using Layers = ScriptTest;

constexpr const char* kGpt = R"(nn.sequential {
  nn.embedding { vocab = corpus.vocab, dim = 12, positions = 8 },
  nn.repeated(2, function() return nn.transformer_block { dim = 12, heads = 3, causal = true } end),
  nn.layer_norm {},
  nn.linear { name = "head", out = corpus.vocab, bias = false, axes = { "vocab" } },
})";

TEST_F(Layers, NameTheParametersOfAGptByTheirPaths) {
  auto script = loaded(job_of(kGpt));
  ASSERT_TRUE(script);
  const std::vector<std::string> expected = {"embedding.weight [16, 12]",
                                             "embedding.positions [8, 12]",
                                             "blocks.0.attention_norm.gamma [12]",
                                             "blocks.0.attention_norm.beta [12]",
                                             "blocks.0.attention.qkv.weight [12, 3, 3, 4]",
                                             "blocks.0.attention.qkv.bias [3, 3, 4]",
                                             "blocks.0.attention.out.weight [3, 4, 12]",
                                             "blocks.0.attention.out.bias [12]",
                                             "blocks.0.mlp_norm.gamma [12]",
                                             "blocks.0.mlp_norm.beta [12]",
                                             "blocks.0.mlp.up.weight [12, 48]",
                                             "blocks.0.mlp.up.bias [48]",
                                             "blocks.0.mlp.down.weight [48, 12]",
                                             "blocks.0.mlp.down.bias [12]"};
  const auto parameters = parameters_of(*script);
  ASSERT_EQ(parameters.size(), 2u + 2 * 12 + 3);
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(parameters[i], expected[i]);
  EXPECT_EQ(parameters[14], "blocks.1.attention_norm.gamma [12]");
  EXPECT_EQ(parameters[26], "norm.gamma [12]");
  EXPECT_EQ(parameters[27], "norm.beta [12]");
  EXPECT_EQ(parameters[28], "head.weight [12, 16]");
}

TEST_F(Layers, CountTheParametersOfAGptByTheClosedForm) {
  auto script = loaded(job_of(kGpt));
  ASSERT_TRUE(script);
  const std::int64_t d = 12, v = 16, p = 8, layers = 2;
  const std::int64_t block = 12 * d * d + 13 * d;  // 4 d² + 4 d, 8 d² + 5 d, and two norms of 2 d
  EXPECT_EQ(parameter_count(*script), v * d + p * d + layers * block + 2 * d + d * v);
}

TEST_F(Layers, StartWeightsAsGpt2Does) {
  auto script = loaded(job_of(kGpt));
  ASSERT_TRUE(script);
  for (const ParameterSpec& spec : script->job().parameters) {
    const Initializer& init = spec.initializer;
    if (spec.name.ends_with(".bias") || spec.name.ends_with(".beta")) {
      EXPECT_EQ(init.kind, Initializer::Kind::constant) << spec.name;
      EXPECT_EQ(init.a, 0) << spec.name;
    } else if (spec.name.ends_with(".gamma")) {
      EXPECT_EQ(init.kind, Initializer::Kind::constant) << spec.name;
      EXPECT_EQ(init.a, 1) << spec.name;
    } else {
      const bool ends_branch = spec.name.ends_with("out.weight") || spec.name.ends_with("down.weight");
      EXPECT_EQ(init.kind, Initializer::Kind::normal) << spec.name;
      EXPECT_EQ(init.a, 0) << spec.name;
      EXPECT_DOUBLE_EQ(init.b, ends_branch ? 0.02 / std::sqrt(2.0 * 2) : 0.02) << spec.name;
    }
  }
}

TEST_F(Layers, GiveParametersAndValuesLogicalAxes) {
  auto script = loaded(job_of(kGpt));
  ASSERT_TRUE(script);
  std::map<std::string, std::vector<std::string>> axes;
  for (const ParameterSpec& spec : script->job().parameters) axes[spec.name] = spec.type.axes;
  using List = std::vector<std::string>;
  EXPECT_EQ(axes["embedding.weight"], (List{"vocab", "embed"}));
  EXPECT_EQ(axes["blocks.0.attention.qkv.weight"], (List{"embed", "", "heads", "head_dim"}));
  EXPECT_EQ(axes["blocks.0.attention.out.weight"], (List{"heads", "head_dim", "embed"}));
  EXPECT_EQ(axes["blocks.1.mlp.up.weight"], (List{"embed", "ff"}));
  EXPECT_EQ(axes["blocks.1.mlp.down.weight"], (List{"ff", "embed"}));
  EXPECT_EQ(axes["head.weight"], (List{"embed", "vocab"}));
  const Op* attention = ops_of(script->job().train(), "attention").at(0);
  const Value& q = script->job().train().value(attention->inputs[0]);
  EXPECT_EQ(q.shape, (Shape{2, 8, 3, 4}));
  EXPECT_EQ(q.axes, (List{"batch", "seq", "heads", "head_dim"}));
}

TEST_F(Layers, TagTheOpsOfRepeatedBlocks) {
  auto script = loaded(job_of(kGpt));
  ASSERT_TRUE(script);
  const auto attentions = ops_of(script->job().train(), "attention");
  ASSERT_EQ(attentions.size(), 2u);
  EXPECT_EQ(attentions[0]->name, "blocks.0.attention");
  EXPECT_EQ(attentions[0]->tags->at("block"), "0");
  EXPECT_EQ(attentions[1]->tags->at("block"), "1");
  EXPECT_FALSE(only(script->job().train(), "embedding")->tags->contains("block"));
}

TEST_F(Layers, MakeLogitsThatTheFusedLossCanTake) {
  auto script = loaded(job_of(kGpt));
  ASSERT_TRUE(script);
  const Graph& graph = script->job().train();
  const Op* loss = only(graph, "cross_entropy");
  ASSERT_TRUE(loss);
  const Op* projection = graph.producer(loss->inputs[0]);
  EXPECT_EQ(projection->kind->name, "matmul");
  EXPECT_EQ(projection->attributes.text("spec"), "abc,cd->abd");
  EXPECT_EQ(graph.value(loss->inputs[0]).users.size(), 1u);
}

TEST_F(Layers, SplitQueriesFromSharedKeysWhereHeadsAreGrouped) {
  auto script = loaded(job_of(R"(nn.sequential { nn.embedding { vocab = 16, dim = 8 },
    nn.attention { heads = 4, kv_heads = 2, causal = true, rotary = true, bias = false }, nn.linear { out = 16 } })"));
  ASSERT_TRUE(script);
  EXPECT_EQ(parameters_of(*script),
            (std::vector<std::string>{"embedding.weight [16, 8]", "attention.kv.weight [8, 2, 2, 2]",
                                      "attention.q.weight [8, 4, 2]", "attention.out.weight [4, 2, 8]",
                                      "linear.weight [8, 16]", "linear.bias [16]"}));
  const Op* attention = only(script->job().train(), "attention");
  ASSERT_TRUE(attention);
  EXPECT_EQ(script->job().train().value(attention->inputs[1]).shape, (Shape{2, 8, 2, 2}));
  EXPECT_DOUBLE_EQ(attention->attributes.number("scale"), 1 / std::sqrt(2.0));
  EXPECT_EQ(attention->attributes.integer("causal"), 1);
}

TEST_F(Layers, MaskDocumentsByAFieldOfTheData) {
  auto script = loaded(R"(local baleen = require "baleen"
local nn = baleen.nn
local corpus = baleen.data.fake { fields = "documents" }
return baleen.job { batch = 2, steps = 1, data = corpus, loss = nn.cross_entropy {}, optimizer = baleen.optimizer("o"),
  model = nn.sequential { nn.embedding { vocab = 16, dim = 4 }, nn.attention { heads = 1, documents = "documents" },
    nn.linear { out = 16 } } })");
  ASSERT_TRUE(script);
  const Op* attention = only(script->job().train(), "attention");
  ASSERT_TRUE(attention);
  ASSERT_EQ(attention->inputs.size(), 5u);
  EXPECT_EQ(script->job().train().value(attention->inputs[3]).name, "documents");
  EXPECT_EQ(script->job().train().value(attention->inputs[4]).name, "documents");
}

TEST_F(Layers, PoolHashedListsOfTheData) {
  const std::string begin = R"(local baleen = require "baleen"
local nn = baleen.nn
local lists = baleen.data.fake { fields = "lists" }
assert(lists.fields[1].length == "items_length" and lists.fields[1].dtype == "int64" and not lists.fields[3].length)
return baleen.job { batch = 2, steps = 1, data = lists, loss = nn.cross_entropy {}, optimizer = baleen.optimizer("o"),
  model = nn.sequential { )",
                    end = ", nn.linear { out = 3 } } }";
  auto script = loaded(begin +
                       "function(ids) return ids:hash_bucket { buckets = 7 } end, nn.embedding { vocab = 7, dim = 4 }, "
                       "nn.pooling { length = 'items_length' }" +
                       end);
  ASSERT_TRUE(script);
  const Graph& graph = script->job().train();
  const Op* hashed = only(graph, "hash_bucket");
  ASSERT_TRUE(hashed);
  EXPECT_EQ(graph.value(hashed->inputs[0]).dtype, BALEEN_I64);
  EXPECT_EQ(graph.value(hashed->inputs[0]).shape, (Shape{2, 3}));
  EXPECT_EQ(hashed->attributes.integer("seed"), 0);
  EXPECT_EQ(graph.value(only(graph, "matmul")->inputs[0]).shape, (Shape{2, 4}));
  EXPECT_EQ(error_of(begin + "nn.embedding { vocab = 7, dim = 4 }" + end),
            "train.lua:6: embedding: embedding: ids is int64 [2, 3]; it must be int32 (int64 values are ids: "
            "`hash_bucket` makes rows of them, int32)");
  EXPECT_EQ(error_of(begin + "nn.pooling { length = 'items_length' }" + end),
            "train.lua:6: pooling: tensor int64 [2 batch, 3] with the lengths `items_length`, tensor int32 [2 batch]; "
            "it takes [batch, most, ..] and [batch]");
}

TEST_F(Layers, TieALinearLayerToAnEmbedding) {
  auto script = loaded(job_of(R"((function()
    local embedding = nn.embedding { vocab = 16, dim = 4 }
    return nn.sequential { embedding, nn.tied(embedding) }
  end)())"));
  ASSERT_TRUE(script);
  EXPECT_EQ(parameters_of(*script), std::vector<std::string>{"embedding.weight [16, 4]"});
  EXPECT_EQ(only(script->job().train(), "matmul")->attributes.text("spec"), "abc,dc->abd");
}

TEST_F(Layers, DropOutWhileTrainingOnly) {
  auto script = loaded(job_of(R"(nn.sequential { nn.embedding { vocab = 16, dim = 4 }, nn.dropout { p = 0.25 },
    nn.dropout { p = 0.25 }, nn.linear { out = 16 } })"));
  ASSERT_TRUE(script);
  std::vector<std::uint64_t> sites;
  for (const Op* op : ops_of(script->job().train(), "pointwise"))
    for (const auto& i : op->attributes.expression("expression").code)
      if (i.opcode == BALEEN_X_UNIFORM) sites.push_back((std::uint64_t{i.b} << 32) | i.a);
  ASSERT_EQ(sites.size(), 2u);
  EXPECT_NE(sites[0], sites[1]);
  for (const Op* op : ops_of(script->job().graphs.at("evaluate").graph, "pointwise"))
    EXPECT_FALSE(op->attributes.expression("expression").uses_random());
}

TEST_F(Layers, GateTheMlpForSwiglu) {
  auto script = loaded(job_of(R"(nn.sequential { nn.embedding { vocab = 16, dim = 4 }, nn.rms_norm {},
    nn.mlp { hidden = 6, activation = "swiglu", bias = false }, nn.linear { out = 16 } })"));
  ASSERT_TRUE(script);
  EXPECT_EQ(parameters_of(*script),
            (std::vector<std::string>{"embedding.weight [16, 4]", "norm.gamma [4]", "mlp.gate.weight [4, 6]",
                                      "mlp.up.weight [4, 6]", "mlp.down.weight [6, 4]", "linear.weight [4, 16]",
                                      "linear.bias [16]"}));
  EXPECT_EQ(only(script->job().train(), "norm")->attributes.text("kind"), "rms");
}

TEST_F(Layers, NumberLayersOfOneKind) {
  auto script =
      loaded(job_of(R"(nn.sequential { nn.embedding { vocab = 16, dim = 4 }, nn.linear { out = 5, bias = false },
    nn.relu {}, nn.linear { out = 5, bias = false }, nn.linear { name = "last", out = 16, bias = false } })"));
  ASSERT_TRUE(script);
  EXPECT_EQ(parameters_of(*script), (std::vector<std::string>{"embedding.weight [16, 4]", "linear.weight [4, 5]",
                                                              "linear_2.weight [5, 5]", "last.weight [5, 16]"}));
}

TEST_F(Layers, ShareTheParametersOfALayerThatIsCalledTwice) {
  auto script = loaded(job_of(R"((function()
    local embedding, shared = nn.embedding { vocab = 16, dim = 16 }, nn.linear { out = 16 }
    return function(tokens) return shared(nn.residual { shared }(embedding(tokens))) end
  end)())"));
  ASSERT_TRUE(script);
  EXPECT_EQ(parameter_count(*script), 16 * 16 + 16 * 16 + 16);
}

TEST_F(Layers, CountOnlyTargetsThatAreNotIgnored) {
  const std::string model = "nn.sequential { nn.embedding { vocab = 16, dim = 4 }, nn.linear { out = 16 } }";
  auto all = loaded(job_of(model));
  auto some = loaded(job_of(model, "loss = nn.cross_entropy { ignore_index = 3 },"));
  ASSERT_TRUE(all && some);
  const Graph& fixed = all->job().train();
  const Op* constant = fixed.producer(fixed.output("weight"));
  ASSERT_TRUE(constant->inputs.empty());
  EXPECT_EQ(constant->attributes.expression("expression").code.at(0).constant, 2 * 8);
  const Graph& counted = some->job().train();
  EXPECT_EQ(counted.producer(counted.output("weight"))->kind->name, "reduce");
  EXPECT_EQ(only(counted, "cross_entropy")->attributes.integer("ignore_index"), 3);
}

TEST_F(Layers, PrintThemselves) {
  auto script = loaded("local nn = require('baleen').nn\nprint(nn.sequential { nn.linear { out = 3 }, nn.relu {} })\n" +
                       job_of("nn.sequential { nn.embedding { vocab = 16, dim = 4 }, nn.linear { out = 16 } }"));
  ASSERT_TRUE(script);
  EXPECT_EQ(printed_, "sequential {\n  linear { out = 3 }\n  relu {}\n}\n");
}

}  // namespace
}  // namespace baleen::testing
