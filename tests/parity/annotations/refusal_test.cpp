/// \file What annotations cannot have on a mesh, at the script's line, with the fix; and what they are told besides.
#include "support/refusal.hpp"
#include "parity/parity_run.hpp"

namespace baleen::test {
namespace {

/// A small network on rows; `layouts` stands in line 4, the model's body in line 6.
std::string script(const std::string& layouts, const std::string& body) {
  return R"(local baleen = require "baleen"
local nn, parallel = baleen.nn, baleen.parallel
local points = baleen.data.table { rows = { { 1, 2, 0 }, { 3, 4, 1 }, { 5, 6, 2 }, { 7, 8, 1 } }, held_out = 0 }
)" + layouts +
         R"( local mlp, head = nn.mlp { name = "mlp", hidden = 6 }, nn.linear { name = "head", out = 3 }
return baleen.job { data = points, batch = 4, steps = 1, loss = nn.cross_entropy {}, model = function(x)
)" + body +
         R"( end,
  optimizer = baleen.optimizer("sgd") }
)";
}

/// The same on text of eight tokens, with an embedding for sixteen.
std::string text_script(const std::string& layouts, const std::string& body) {
  return R"(local baleen = require "baleen"
local nn, parallel = baleen.nn, baleen.parallel
local corpus = baleen.data.text { path = ")" +
         source_dir() +
         R"(/tests/golden/whales.txt", tokenizer = "bytes", context = 8 }
)" + layouts +
         R"( local embedding = nn.embedding { name = "embedding", vocab = corpus.vocab, dim = 12, positions = 16 }
return baleen.job { data = corpus, batch = 4, steps = 1, loss = nn.cross_entropy {}, model = function(x)
)" + body +
         R"( end,
  optimizer = baleen.optimizer("sgd") }
)";
}

/// An entry of the plan.
std::string entry(const std::string& strategy, const std::string& options = {}) {
  return "[[plan]]\nstrategy = \"" + strategy + "\"\n" + options;
}

class Annotated : public ::testing::Test {
 protected:
  ProcessResult run(const std::string& text, const MeshAxes& mesh, const std::string& plan = {},
                    const std::vector<std::string>& command = {"run"}) const {
    std::vector<std::string> words{command[0], folder_.write("train.lua", text), "--manifest",
                                   folder_.write("ranks.toml", manifest_of(mesh, plan))};
    words.insert(words.end(), command.begin() + 1, command.end());
    return run_baleen(words);
  }
  /// `message` begins with the line of the script.
  void expect_refused(const std::string& text, const MeshAxes& mesh, const std::string& message,
                      const std::string& plan = {}) const {
    expect_refusal(run(text, mesh, plan),
                   {.after_others = true, .parts = {folder_ / "train.lua:" + message}, .before = Before::kNoStep});
  }
  const TemporaryFolder folder_;
};

const std::string kWhole = "return head(mlp(x))";
const std::string kSplit = "return head(parallel.split { axis = 'tensor', dim = 'ff' } (mlp, x))";

TEST_F(Annotated, ExtentsThatAreTooSmall) {
  expect_refused(script("", kSplit), {{"tensor", 7}},
                 "6: `mlp.up.weight`: `ff` = 6 of [2, 6] cannot be cut over the 7 ranks along `tensor`; make it 7 or "
                 "more, or the axis 6 or less");
  expect_refused(script("parallel.layout { name = 'head', axis = 'tensor', placement = 'shard', dim = 2 }", kWhole),
                 {{"tensor", 4}},
                 "4: `head`: dimension 2 = 3 of [4, 3] cannot be cut over the 4 ranks along `tensor`; make it 4 or "
                 "more, or the axis 3 or less");
}

TEST_F(Annotated, HeadsThatShareKeys) {
  const std::string body = "return head(parallel.split { axis = 'tensor', dim = 'heads' } (attention, embedding(x)))";
  const std::string layers =
      "local head, attention = nn.linear { name = 'head', out = corpus.vocab }, nn.attention { "
      "name = 'attention', heads = 6, kv_heads = 3 }";
  expect_refused(text_script(layers, body), {{"tensor", 2}},
                 "6: attention: `heads` = 3 and 6 cannot be cut together over the 2 ranks along `tensor`; make each a "
                 "multiple of 2");
}

TEST_F(Annotated, OneParameterInTwoScopesThatDisagree) {
  const std::string body =
      "x = parallel.split { axis = 'tensor', dim = 'vocab' } (embedding, x)\n"
      "return parallel.replicate { axis = 'tensor' } (tied, x)";
  expect_refused(text_script("local tied;", "tied = tied or nn.tied(embedding)\n" + body), {{"tensor", 2}},
                 "7: `embedding.weight` is to be cut along dimension 1 along `tensor` here, and whole at " +
                     folder_ / "train.lua:8; name it in one parallel.layout, which stands above both");
}

TEST_F(Annotated, ALayoutSettlesWhatScopesDisagreeOn) {
  const std::string body =
      "tied = tied or nn.tied(embedding)\n"
      "x = parallel.split { axis = 'tensor', dim = 'vocab' } (embedding, x)\n"
      "return parallel.replicate { axis = 'tensor' } (tied, x)";
  const std::string chosen = "parallel.layout { name = 'embedding.weight', axis = 'tensor', placement = 'replicate' }";
  const ProcessResult result = run(text_script("local tied; " + chosen, body), {{"tensor", 2}}, "", {"verify"});
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
}

TEST_F(Annotated, AnOpThatCannotBeCutSo) {
  const std::string cut =
      "local head = nn.linear { name = 'head', out = corpus.vocab } "
      "parallel.layout { name = 'embedding.positions', axis = 'tensor', placement = 'shard', dim = 1 }";
  const std::string text = text_script(cut, "return head(embedding(x))");
  expect_refused(text, {{"tensor", 2}},
                 "4: embedding (slice): no way to run along the mesh axis `tensor`; parameter `embedding.positions` "
                 "[16, 12] is cut along dimension 1, a dimension along which this op cannot be cut");
  const ProcessResult result = run(text, {{"tensor", 2}});
  EXPECT_NE(result.err.find("the script wants `embedding.positions` cut along dimension 1 along `tensor` at " +
                            folder_ / "train.lua:4: choose another dimension there, or take it away"),
            std::string::npos)
      << result.err;
}

TEST_F(Annotated, FieldsThatAreCutByRowsAlone) {
  const std::string cut = "parallel.layout { name = 'tokens', axis = 'tensor', placement = 'shard', dim = 'batch' }";
  expect_refused(
      text_script("local head = nn.linear { name = 'head', out = corpus.vocab } " + cut, "return head(embedding(x))"),
      {{"tensor", 2}},
      "4: `tokens` is to be cut along `batch` over the ranks of `tensor`, and `targets` whole: a rank reads "
      "all fields of the same rows; lay out both alike, as in name = { \"tokens\", \"targets\" }");
}

TEST_F(Annotated, AnAxisThatAStrategySplit) {
  if (!has_plugin("strategy", "tensor")) GTEST_SKIP() << "no strategy `tensor` in this tree";
  expect_refused(
      script("", kSplit), {{"tensor", 4}},
      "6: a strategy of the plan has split the mesh axis `tensor` into parts; name one of them, as in axis = "
      "\"tensor.row\", or take the strategy out of the plan",
      entry("tensor", "mode = \"2d\"\n"));
}

TEST_F(Annotated, AStrategyThatDemandsOtherwise) {
  if (!has_plugin("strategy", "tensor")) GTEST_SKIP() << "no strategy `tensor` in this tree";
  expect_refused(
      script("parallel.layout { name = 'mlp.up.weight', axis = 'tensor.col', placement = 'replicate' }", kWhole),
      {{"tensor", 4}},
      "4: `mlp.up.weight` is to be whole along `tensor.col`, but strategy `tensor` demands it cut along "
      "dimension 2 for its own form of mlp.up; take the annotation away, or the strategy off that axis",
      entry("tensor", "mode = \"2d\"\n"));
}

TEST_F(Annotated, AnAxisThatTheMeshLacksChangesNothingAndIsSaid) {
  const std::string said = "train.lua:6: the mesh has no axis `tensr`: what the script lays out along it stays whole";
  const std::string text = script("", "return head(parallel.split { axis = 'tensr', dim = 'ff' } (mlp, x))");
  const ProcessResult one = run(text, {{"tensor", 1}});
  EXPECT_EQ(one.exit_code, 0) << one.out << one.err;
  EXPECT_NE(one.err.find(folder_ / said + "\n"), std::string::npos) << one.err;
  if (!has_plugin("strategy", "tensor")) GTEST_SKIP() << "no strategy `tensor` in this tree";
  const ProcessResult two = run(text, {{"tensor", 2}});
  EXPECT_EQ(two.exit_code, 0) << two.out << two.err;
  EXPECT_NE(two.err.find(folder_ / said + "; did you mean `tensor`?"), std::string::npos) << two.err;
}

/// `baleen graph` shows the layouts, in training and in evaluation; generation is whole on every rank.
TEST_F(Annotated, GraphsShowThem) {
  const std::string layers = "local head = nn.linear { name = 'head', out = corpus.vocab, axes = { 'vocab' } }";
  const std::string text =
      text_script(layers, "return parallel.split { axis = 'tensor', dim = 'vocab' } (head, embedding(x))");
  for (const auto& [graph, cut] :
       {std::pair{"train", true}, std::pair{"evaluate", true}, std::pair{"generate", false}}) {
    const ProcessResult result = run(text, {{"tensor", 2}}, "", {"graph", "--ops", "--graph", graph});
    EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
    const std::size_t made = result.out.find("matmul(");
    ASSERT_NE(made, std::string::npos) << result.out;
    const std::string line = result.out.substr(made, result.out.find('\n', made) - made);
    EXPECT_EQ(line.find("{S2}") != std::string::npos, cut) << graph << ": " << line;
    EXPECT_EQ(result.out.find("all_gather") == std::string::npos, cut) << graph << ": " << result.out;
  }
}

TEST_F(Annotated, AnAxisWithoutAStrategyIsSaid) {
  for (const char* command : {"run", "plan", "graph"}) {
    const ProcessResult alone = run(script("", kSplit), {{"tensor", 2}}, "", {command});
    EXPECT_EQ(alone.exit_code, 0) << alone.out << alone.err;
    EXPECT_NE((alone.out + alone.err)
                  .find("train.lua:6: only the script's annotations work along the mesh axis `tensor`; for rules "
                        "besides, name a strategy for it in the plan"),
              std::string::npos)
        << command << alone.out << alone.err;
  }
}

}  // namespace
}  // namespace baleen::test
