/// \file Layouts by hand: which ops and parameters an annotation belongs to, and every message about a wrong one.
#include "script_fixture.hpp"

namespace baleen::testing {
namespace {

class Parallel : public ScriptTest {
 protected:
  /// The error of a script whose lines after the first are these.
  std::string error_beside(const std::string& lines) {
    return error_of("local parallel = require('baleen').parallel\n" + lines);
  }
  /// The error of a model, a function of `t` whose body begins in line 7, in a job of embedding and head.
  std::string error_inside(const std::string& body, const std::string& more = {}) {
    return error_of(job_of("(function() local parallel = baleen.parallel " + more +
                           " local embedding, mlp, head = nn.embedding { vocab = 16, dim = 4 }, nn.mlp { name = 'mlp' "
                           "}, nn.linear { name = 'head', out = 16 } return function(t)\n" +
                           body + "\nend end)()"));
  }
  static std::string tag_of(Script& script, const std::string& name) {
    const Graph& graph = script.job().train();
    for (OpId id : graph.ops())
      for (ValueId output : graph.op(id).outputs)
        if (graph.value(output).name == name) {
          const auto tags = shown_tags(graph.op(id));
          return tags.contains("parallel") ? tags.at("parallel") : "";
        }
    return "absent";
  }
};

TEST_F(Parallel, TheInnermostScopeIsTheLastOfAnOpsList) {
  const auto script = loaded(job_of(R"((function()
    local parallel = baleen.parallel
    local embedding, mlp = nn.embedding { vocab = 16, dim = 4 }, nn.mlp { name = "mlp" }
    local head = nn.linear { name = "head", out = 16 }
    return function(t)
      local x = embedding(t)
      x = parallel.split { axis = "a", dim = "ff" } (function()
        return parallel.replicate { axis = "a" } (mlp, x)
      end)
      return head(x)
    end
  end)())"));
  ASSERT_TRUE(script);
  ASSERT_EQ(script->job().annotations.size(), 2u);
  EXPECT_EQ(script->job().annotations[0].kind, Annotation::Kind::split);
  EXPECT_EQ(script->job().annotations[0].dim, "ff");
  EXPECT_TRUE(script->job().annotations[0].where.ends_with("train.lua:12"));
  EXPECT_EQ(script->job().annotations[1].kind, Annotation::Kind::replicate);
  EXPECT_EQ(tag_of(*script, "mlp.up.weight"), "0,1");
  EXPECT_EQ(tag_of(*script, "head.weight"), "");
}

TEST_F(Parallel, ResultsAndArgumentsPassThrough) {
  EXPECT_EQ(error_inside("local a, b, c = parallel.replicate { axis = 'a' } (function(...) return ... end, 1, nil, 3)\n"
                         "error(('%s %s %s'):format(a, b, c))"),
            "train.lua:8: 1 nil 3");
}

TEST_F(Parallel, AScopeEndsWhereItsBodyFails) {
  EXPECT_EQ(error_inside("pcall(parallel.replicate { axis = 'a' }, function() error('x') end)\n"
                         "local x = head(embedding(t)) return x"),
            "");
}

TEST_F(Parallel, UnknownAndMissingOptions) {
  EXPECT_EQ(error_beside("parallel.split { axs = 'a', dim = 'ff' }"),
            "train.lua:2: parallel.split: unknown option `axs`; did you mean `axis`?");
  EXPECT_EQ(error_beside("parallel.split { axis = 'a' }"), "train.lua:2: parallel.split: option `dim` is missing");
  EXPECT_EQ(error_beside("parallel.replicate {}"), "train.lua:2: parallel.replicate: option `axis` is missing");
  EXPECT_EQ(error_beside("parallel.replicate { axis = 'a', dim = 'ff' }"),
            "train.lua:2: parallel.replicate: unknown option `dim`; known: `axis`");
  EXPECT_EQ(error_beside("parallel.layout { name = 'w', axis = 'a' }"),
            "train.lua:2: parallel.layout: option `placement` is missing");
}

TEST_F(Parallel, NamesOfAxes) {
  EXPECT_EQ(error_beside("parallel.replicate { axis = 'a b' }"),
            "train.lua:2: parallel.replicate: `axis` is \"a b\"; it must be the name of a mesh axis, as in axis = "
            "\"tensor\"");
  EXPECT_EQ(error_beside("parallel.split { axis = 'a', dim = '' }"),
            "train.lua:2: parallel.split: `dim` is \"\"; it must be a logical axis, as in dim = \"heads\"");
}

TEST_F(Parallel, WhatAScopeIsPutAround) {
  EXPECT_EQ(error_inside("return parallel.replicate { axis = 'a' } (head(embedding(t)))"),
            "train.lua:7: parallel.replicate: what it is put around is a tensor; it must be a function or a "
            "layer, as in parallel.replicate { ... } (function() ... end)");
  EXPECT_EQ(error_beside("parallel.split { axis = 'a', dim = 'ff' } (print)"),
            "train.lua:2: parallel.split: it stands around forward code, which runs only while the job's model is "
            "described; put it inside a layer's or the model's function");
}

TEST_F(Parallel, ASplitOfNothing) {
  EXPECT_EQ(error_inside("local x = parallel.split { axis = 'a', dim = 'fff' } (mlp, embedding(t))\nreturn head(x)"),
            "train.lua:7: parallel.split: `dim`: nothing that is made inside has this logical axis; unknown logical "
            "axis `fff`; did you mean `ff`?");
  EXPECT_EQ(error_inside("local x = parallel.split { axis = 'a', dim = 'ff' } (function() return 3 end)\nreturn x"),
            "train.lua:7: parallel.split: `dim`: nothing that is made inside has this logical axis; nothing inside has "
            "any; name dimensions with `axes`, as in nn.linear { out = 64, axes = { \"ff\" } }");
}

TEST_F(Parallel, DimensionsOfALayout) {
  const std::string shard = "parallel.layout { name = 'w', axis = 'a', placement = 'shard', ";
  const std::string needs = "; placement = \"shard\" needs a dimension from 1, -1 for the last, or a logical axis";
  EXPECT_EQ(error_beside(shard + "}"), "train.lua:2: parallel.layout: `dim` is nil" + needs);
  EXPECT_EQ(error_beside(shard + "dim = 0 }"), "train.lua:2: parallel.layout: `dim` is the number 0" + needs);
  EXPECT_EQ(error_beside(shard + "dim = '' }"),
            "train.lua:2: parallel.layout: `dim` is \"\"; it must be a logical axis, as in dim = \"heads\"");
  EXPECT_EQ(error_beside("parallel.layout { name = 'w', axis = 'a', placement = 'replicate', dim = 1 }"),
            "train.lua:2: parallel.layout: `dim` says what to cut; take it away from placement = \"replicate\"");
  EXPECT_EQ(error_beside("parallel.layout { name = 'w', axis = 'a', placement = 'partial' }"),
            "train.lua:2: parallel.layout: `placement`: unknown choice `partial`; known: `shard`, `replicate`");
}

TEST_F(Parallel, NamesOfALayout) {
  const std::string rest = ", axis = 'a', placement = 'replicate' }";
  EXPECT_EQ(error_beside("parallel.layout { name = {}" + rest),
            "train.lua:2: parallel.layout: `name` is empty; it must be a pattern of names, or a list of them");
  EXPECT_EQ(error_beside("parallel.layout { name = { 'w', 3 }" + rest),
            "train.lua:2: parallel.layout: name 2 is the number 3; it must be a string");
  EXPECT_EQ(
      error_beside("parallel.layout { name = 'w'" + rest + "\nparallel.layout { name = { 'v', 'w' }" + rest),
      "train.lua:3: parallel.layout of `w` along `a` is chosen already, at train.lua:2; take one of the two away");
}

TEST_F(Parallel, WhereALayoutStands) {
  EXPECT_EQ(error_inside("parallel.layout { name = 'w', axis = 'a', placement = 'replicate' }\nreturn t"),
            "train.lua:7: parallel.layout: it stands beside the model, not in its functions: they run once per graph");
}

TEST_F(Parallel, ALayoutOfNothing) {
  const std::string made = "local x = head(mlp(embedding(t))) return x";
  EXPECT_EQ(error_inside(made, "parallel.layout { name = 'mlp.upp.weight', axis = 'a', placement = 'replicate' }"),
            "train.lua:6: parallel.layout: unknown name `mlp.upp.weight`; did you mean `mlp.up.weight`?; a name is a "
            "parameter's, an input's, or the path of a layer for its result");
  EXPECT_EQ(
      error_inside(made, "parallel.layout { name = 'head', axis = 'a', placement = 'shard', dim = 4 }"),
      "train.lua:6: parallel.layout of `head`: there is no dimension 4 in the shape [2, 8, 16]; give `dim` from 1 "
      "to 3");
  EXPECT_EQ(
      error_inside(made, "parallel.layout { name = 'mlp.up.weight', axis = 'a', placement = 'shard', dim = -3 }"),
      "train.lua:6: parallel.layout of `mlp.up.weight`: there is no dimension -3 in the shape [4, 16]; give `dim` "
      "from 1 to 2");
  EXPECT_EQ(
      error_inside(made, "parallel.layout { name = 'mlp.up.weight', axis = 'a', placement = 'shard', dim = 'fff' }"),
      "train.lua:6: parallel.layout of `mlp.up.weight`: unknown logical axis `fff`; did you mean `ff`?");
}

TEST_F(Parallel, LayoutsAreOfParametersInputsAndResults) {
  const std::string made = "local x = head(mlp(embedding(t))) return x";
  for (const char* name : {"mlp.up.weight", "tokens", "mlp.up", "*.weight"})
    EXPECT_EQ(error_inside(made, "parallel.layout { name = '" + std::string(name) +
                                     "', axis = 'a', placement = 'shard', dim = -1 }"),
              "")
        << name;
}

}  // namespace
}  // namespace baleen::testing
