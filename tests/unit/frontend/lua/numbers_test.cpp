/// \file Whole models by their numbers: the forward pass against plain loops, the gradient against finite differences.
#include <cmath>
#include <random>

#include "compiler/graph/graph.hpp"
#include "script_fixture.hpp"
#include "support/reference_interpreter.hpp"

namespace baleen::testing {
namespace {

using test::ReferenceInterpreter;
using Numbers = std::vector<double>;

constexpr const char* kGpt = R"(nn.sequential {
  nn.embedding { vocab = 16, dim = 6, positions = 9 },
  nn.repeated(2, function() return nn.transformer_block { heads = 2, causal = true } end),
  nn.layer_norm {},
  nn.linear { name = "head", out = 16, bias = false },
})";

/// Fake tokens of context 8 in batches of 2.
class Models : public ScriptTest {
 protected:
  Models() {
    options_.dtype = BALEEN_F64;
    std::mt19937 random(3);
    for (Numbers* ids : {&tokens_, &targets_})
      for (int i = 0; i < 16; ++i) ids->push_back(static_cast<double>(random() % 16));
  }

  /// Random numbers for every parameter.
  void fill(Script& script) {
    std::mt19937 random(4);
    std::normal_distribution<double> normal(0, 0.5);
    for (const ParameterSpec& spec : script.job().parameters) {
      Numbers& numbers = parameters_[spec.name];
      numbers.resize(static_cast<std::size_t>(element_count(spec.type.shape)));
      for (double& x : numbers) x = normal(random);
    }
  }

  void set(ReferenceInterpreter& interpreter) const {
    for (const auto& [name, numbers] : parameters_) interpreter.set(name, numbers);
    interpreter.set("tokens", tokens_);
    interpreter.set("targets", targets_);
  }

  double loss(const Graph& graph) const {
    ReferenceInterpreter interpreter(graph);
    set(interpreter);
    interpreter.run();
    return interpreter.output("loss")[0];
  }

  /// The gradient of every parameter against central differences at a few of its elements.
  void expect_true_gradients(const std::string& model, const std::string& more = {}) {
    auto script = loaded(job_of(model, more));
    ASSERT_TRUE(script);
    fill(*script);
    Graph graph = script->job().train();
    std::vector<ValueId> targets;
    for (const ParameterSpec& spec : script->job().parameters)
      targets.push_back(*graph.parameter(spec.name, spec.type));
    const ValueId seed = *graph.constant(1, BALEEN_F64);
    auto gradients = differentiate(graph, graph.output("loss"), seed, targets);
    ASSERT_TRUE(gradients) << gradients.error().text();
    ReferenceInterpreter interpreter(graph);
    set(interpreter);
    interpreter.run();
    for (std::size_t p = 0; p < targets.size(); ++p) {
      const std::string& name = script->job().parameters[p].name;
      ASSERT_NE((*gradients)[p], kNone) << name;
      compare(script->job().train(), name, interpreter.value((*gradients)[p]).data);
    }
  }

  void compare(const Graph& graph, const std::string& name, const Numbers& gradient) {
    Numbers& numbers = parameters_[name];
    ASSERT_EQ(gradient.size(), numbers.size()) << name;
    const std::size_t stride = std::max<std::size_t>(1, numbers.size() / 5);
    for (std::size_t i = 0; i < numbers.size(); i += stride) {
      const double x = numbers[i], h = 1e-5;
      numbers[i] = x + h;
      const double above = loss(graph);
      numbers[i] = x - h;
      const double below = loss(graph);
      numbers[i] = x;
      EXPECT_NEAR(gradient[i], (above - below) / (2 * h), 1e-6 * (1 + std::abs(gradient[i]))) << name << " at " << i;
    }
  }

  std::map<std::string, Numbers> parameters_;
  Numbers tokens_, targets_;
};

/// The GPT above, written as loops over one sequence. Activations are [seq][dim].
class PlainGpt {
 public:
  explicit PlainGpt(const std::map<std::string, Numbers>& parameters) : parameters_(parameters) {}

  /// The sum of the losses of one sequence.
  double loss(const double* tokens, const double* targets) const {
    std::vector<Numbers> x(kSeq, Numbers(kDim));
    for (int s = 0; s < kSeq; ++s)
      for (int d = 0; d < kDim; ++d)
        x[s][d] =
            at("embedding.weight", static_cast<int>(tokens[s]) * kDim + d) + at("embedding.positions", s * kDim + d);
    for (int block = 0; block < 2; ++block) {
      const std::string path = "blocks." + std::to_string(block) + ".";
      add(x, attention(path + "attention", normalised(path + "attention_norm", x)));
      add(x, mlp(path + "mlp", normalised(path + "mlp_norm", x)));
    }
    x = normalised("norm", x);
    double total = 0;
    for (int s = 0; s < kSeq; ++s) {
      const Numbers logits = project("head.weight", x[s], kVocab);
      double sum = 0;
      for (double logit : logits) sum += std::exp(logit);
      total += std::log(sum) - logits[static_cast<std::size_t>(targets[s])];
    }
    return total;
  }

 private:
  static constexpr int kSeq = 8, kDim = 6, kHeads = 2, kWidth = 3, kVocab = 16;

  double at(const std::string& name, int i) const { return parameters_.at(name).at(static_cast<std::size_t>(i)); }

  static void add(std::vector<Numbers>& x, const std::vector<Numbers>& y) {
    for (int s = 0; s < kSeq; ++s)
      for (int d = 0; d < kDim; ++d) x[s][d] += y[s][d];
  }

  Numbers project(const std::string& weight, const Numbers& x, int out) const {
    Numbers y(static_cast<std::size_t>(out), 0.0);
    for (int o = 0; o < out; ++o)
      for (std::size_t i = 0; i < x.size(); ++i) y[o] += x[i] * at(weight, static_cast<int>(i) * out + o);
    return y;
  }

  std::vector<Numbers> normalised(const std::string& path, std::vector<Numbers> x) const {
    for (Numbers& row : x) {
      double mean = 0, variance = 0;
      for (double v : row) mean += v / kDim;
      for (double v : row) variance += (v - mean) * (v - mean) / kDim;
      for (int d = 0; d < kDim; ++d)
        row[d] = (row[d] - mean) / std::sqrt(variance + 1e-5) * at(path + ".gamma", d) + at(path + ".beta", d);
    }
    return x;
  }

  std::vector<Numbers> mlp(const std::string& path, const std::vector<Numbers>& x) const {
    std::vector<Numbers> result;
    for (const Numbers& row : x) {
      Numbers hidden = project(path + ".up.weight", row, 4 * kDim);
      for (int i = 0; i < 4 * kDim; ++i) {
        const double v = hidden[i] + at(path + ".up.bias", i);
        hidden[i] = 0.5 * v * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v)));
      }
      result.push_back(project(path + ".down.weight", hidden, kDim));
      for (int d = 0; d < kDim; ++d) result.back()[d] += at(path + ".down.bias", d);
    }
    return result;
  }

  std::vector<Numbers> attention(const std::string& path, const std::vector<Numbers>& x) const {
    std::vector<Numbers> qkv;  // [3, heads, width] of each token
    for (const Numbers& row : x) {
      qkv.push_back(project(path + ".qkv.weight", row, 3 * kDim));
      for (int i = 0; i < 3 * kDim; ++i) qkv.back()[i] += at(path + ".qkv.bias", i);
    }
    std::vector<Numbers> result;
    for (int s = 0; s < kSeq; ++s) {
      Numbers heads(kDim, 0.0);
      for (int h = 0; h < kHeads; ++h) attend(qkv, s, h, heads);
      result.push_back(project(path + ".out.weight", heads, kDim));
      for (int d = 0; d < kDim; ++d) result.back()[d] += at(path + ".out.bias", d);
    }
    return result;
  }

  static void attend(const std::vector<Numbers>& qkv, int s, int h, Numbers& heads) {
    Numbers weights;
    double total = 0;
    for (int t = 0; t <= s; ++t) {
      double score = 0;
      for (int e = 0; e < kWidth; ++e) score += qkv[s][h * kWidth + e] * qkv[t][kDim + h * kWidth + e];
      weights.push_back(std::exp(score / std::sqrt(static_cast<double>(kWidth))));
      total += weights.back();
    }
    for (int t = 0; t <= s; ++t)
      for (int e = 0; e < kWidth; ++e) heads[h * kWidth + e] += weights[t] / total * qkv[t][2 * kDim + h * kWidth + e];
  }

  const std::map<std::string, Numbers>& parameters_;
};

TEST_F(Models, AGptIsWhatPlainLoopsCompute) {
  auto script = loaded(job_of(kGpt));
  ASSERT_TRUE(script);
  fill(*script);
  const PlainGpt plain(parameters_);
  const double expected =
      plain.loss(tokens_.data(), targets_.data()) + plain.loss(tokens_.data() + 8, targets_.data() + 8);
  EXPECT_NEAR(loss(script->job().train()), expected, 1e-9 * std::abs(expected));
  EXPECT_NEAR(loss(script->job().graphs.at("evaluate").graph), expected, 1e-9 * std::abs(expected));
}

TEST_F(Models, AGptHasTrueGradients) { expect_true_gradients(kGpt); }

TEST_F(Models, ALlamaHasTrueGradients) {
  expect_true_gradients(R"((function()
    local embedding = nn.embedding { vocab = 16, dim = 8 }
    return nn.sequential { embedding,
      nn.transformer_block { heads = 4, kv_heads = 2, causal = true, rotary = true, norm = "rms", activation = "swiglu",
        hidden = 5, bias = false },
      nn.rms_norm {}, nn.tied(embedding) }
  end)())",
                        "loss = nn.cross_entropy { ignore_index = 3, smoothing = 0.1 },");
}

TEST_F(Models, DropoutHasTrueGradients) {
  expect_true_gradients(
      "nn.sequential { nn.embedding { vocab = 16, dim = 4 }, nn.gelu {}, nn.dropout { p = 0.3 }, "
      "nn.linear { out = 16 } }");
}

TEST_F(Models, RotaryScoresDependOnDistanceAlone) {
  // All tokens are one, so before the rotation all queries are equal, and so are all keys.
  tokens_.assign(16, 5);
  auto script =
      loaded(job_of("nn.sequential { nn.embedding { vocab = 16, dim = 8 }, nn.attention { heads = 2, rotary = true }, "
                    "nn.linear { out = 16 } }"));
  ASSERT_TRUE(script);
  fill(*script);
  const Graph& graph = script->job().train();
  ReferenceInterpreter interpreter(graph);
  set(interpreter);
  interpreter.run();
  const Op* attention = only(graph, "attention");
  const test::Tensor &q = interpreter.value(attention->inputs[0]), &k = interpreter.value(attention->inputs[1]);
  auto score = [&](std::int64_t s, std::int64_t t) {
    double sum = 0;
    for (std::int64_t e = 0; e < 4; ++e) sum += q.at({0, s, 1, e}) * k.at({0, t, 1, e});
    return sum;
  };
  for (std::int64_t s = 1; s < 8; ++s) EXPECT_NEAR(score(s, s - 1), score(1, 0), 1e-12) << s;
  EXPECT_GT(std::abs(score(2, 0) - score(1, 0)), 1e-6);
  // Position 1 turns the pair (0, 2) by one radian and the pair (1, 3) by 10000^(-1/2).
  const double a = q.at({0, 0, 0, 0}), b = q.at({0, 0, 0, 2}), c = q.at({0, 0, 0, 1}), d = q.at({0, 0, 0, 3});
  EXPECT_NEAR(q.at({0, 1, 0, 0}), a * std::cos(1.0) - b * std::sin(1.0), 1e-12);
  EXPECT_NEAR(q.at({0, 1, 0, 2}), b * std::cos(1.0) + a * std::sin(1.0), 1e-12);
  EXPECT_NEAR(q.at({0, 1, 0, 1}), c * std::cos(0.01) - d * std::sin(0.01), 1e-12);
}

TEST_F(Models, DropoutKeepsTheMean) {
  auto script =
      loaded(job_of("nn.sequential { nn.embedding { vocab = 16, dim = 400 }, nn.dropout { p = 0.25 }, "
                    "nn.linear { out = 16 } }"));
  ASSERT_TRUE(script);
  fill(*script);
  parameters_["embedding.weight"].assign(16 * 400, 1.0);
  const Graph& graph = script->job().train();
  ReferenceInterpreter interpreter(graph, 9);
  set(interpreter);
  interpreter.run();
  const Numbers& kept = interpreter.value(only(graph, "matmul")->inputs[0]).data;
  std::size_t zeros = 0;
  for (double v : kept) {
    if (v == 0)
      ++zeros;
    else
      EXPECT_DOUBLE_EQ(v, 1 / 0.75);
  }
  const double count = static_cast<double>(kept.size());
  EXPECT_NEAR(static_cast<double>(zeros) / count, 0.25, 5 * std::sqrt(0.25 * 0.75 / count));
}

TEST_F(Models, IgnoredTargetsWeighNothing) {
  auto script = loaded(job_of("nn.sequential { nn.embedding { vocab = 16, dim = 4 }, nn.linear { out = 16 } }",
                              "loss = nn.cross_entropy { ignore_index = 3 }, metrics = { accuracy = nn.accuracy { "
                              "ignore_index = 3 } },"));
  ASSERT_TRUE(script);
  fill(*script);
  targets_ = {3, 1, 3, 3, 2, 0, 5, 3, 3, 3, 3, 3, 3, 3, 3, 3};
  ReferenceInterpreter interpreter(script->job().train());
  set(interpreter);
  interpreter.run();
  EXPECT_EQ(interpreter.output("weight")[0], 4);
  EXPECT_EQ(interpreter.output("metric.accuracy.weight")[0], 4);
}

TEST_F(Models, AccuracyCountsTheLikeliest) {
  auto script = loaded(
      job_of("(function() local e = nn.embedding { vocab = 16, dim = 16 } return function(t) return e(t) end end)()",
             "metrics = { accuracy = nn.accuracy {} },"));
  ASSERT_TRUE(script);
  Numbers& table = parameters_["embedding.weight"];
  table.assign(16 * 16, 0);
  for (int i = 0; i < 16; ++i) table[i * 16 + (i + 1) % 16] = 1;  // predicts the token's successor
  double right = 0;
  for (int i = 0; i < 16; ++i) {
    targets_[i] = i % 3 == 0 ? std::fmod(tokens_[i] + 1, 16) : std::fmod(tokens_[i] + 2, 16);
    right += i % 3 == 0;
  }
  ReferenceInterpreter interpreter(script->job().train());
  set(interpreter);
  interpreter.run();
  EXPECT_EQ(interpreter.output("metric.accuracy")[0], right);
  EXPECT_EQ(interpreter.output("metric.accuracy.weight")[0], 16);
}

/// Of three vectors behind each other the mean of the first one, of none, or of two: what stands behind is as large as
/// floats are, and does not count.
TEST_F(Models, PoolingCountsWhatIsInTheList) {
  for (const auto& [kind, expected] :
       {std::pair{"mean", Numbers{1, 2, 0, 0, 2, 3}}, std::pair{"sum", Numbers{1, 2, 0, 0, 4, 6}}}) {
    auto script = loaded(R"(local baleen = require "baleen"
local vectors = { dtype = "fp32", shape = { 3, 3, 2 }, axes = { "batch" } }
local lengths = { dtype = "int32", shape = { 3 }, axes = { "batch" } }
local pooled = baleen.nn.pooling { length = "n", kind = ")" +
                         std::string(kind) + R"(" }
return baleen.job { programs = { pool = { inputs = { x = vectors, n = lengths },
  run = function(inputs) return { y = pooled(inputs.x) } end } } })");
    ASSERT_TRUE(script);
    const Graph& graph = script->job().graphs.at("pool").graph;
    ReferenceInterpreter interpreter(graph);
    const double huge = 1e300;
    interpreter.set("x", {1, 2, huge, huge, huge, huge, huge, huge, huge, huge, huge, huge, 1, 2, 3, 4, huge, huge});
    interpreter.set("n", {1, 0, 2});
    interpreter.run();
    EXPECT_EQ(interpreter.output("y").shape, (Shape{3, 2}));
    EXPECT_EQ(interpreter.output("y").data, expected) << kind;
  }
}

TEST_F(Models, MeanSquaredError) {
  auto script = loaded(R"(local baleen = require "baleen"
local ops = baleen.ops
return baleen.job { batch = 2, steps = 1, data = baleen.data.fake { fields = "features" }, loss = baleen.nn.mse {},
  optimizer = baleen.optimizer("o"), model = function(x) return ops.sum(x, 2, true) end })");
  ASSERT_TRUE(script);
  ReferenceInterpreter interpreter(script->job().train());
  interpreter.set("features", {1, 2, 3, 4, 5, 6, 7, 8});
  interpreter.set("label", {2, 0});
  interpreter.run();
  EXPECT_DOUBLE_EQ(interpreter.output("loss")[0], 8.0 * 8 + 26 * 26);
  EXPECT_EQ(interpreter.output("weight")[0], 2);
}

}  // namespace
}  // namespace baleen::testing
