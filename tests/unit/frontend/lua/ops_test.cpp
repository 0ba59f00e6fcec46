/// \file Every function of `baleen.ops`, by its numbers on a small tensor.
#include <cmath>

#include "script_fixture.hpp"
#include "support/reference_interpreter.hpp"

namespace baleen::testing {
namespace {

using test::Tensor;

/// x is [[1, -2, 3, -4], [0.5, 0.25, -1, 2]], label is [2, 0].
class Ops : public ScriptTest {
 protected:
  Ops() { options_.dtype = BALEEN_F64; }

  Tensor value(const std::string& expression) {
    auto script = loaded(text_of(expression));
    if (!script) return Tensor(Shape{0});
    const Graph& graph = script->job().train();
    test::ReferenceInterpreter interpreter(graph, /*seed=*/5, /*step=*/7);
    interpreter.set("features", {1, -2, 3, -4, 0.5, 0.25, -1, 2});
    interpreter.set("label", {2, 0});
    interpreter.run();
    return interpreter.value(graph.producer(graph.output("loss"))->inputs[0]);
  }

  static std::string text_of(const std::string& expression) {
    return R"(local baleen = require "baleen"
local ops = baleen.ops
return baleen.job { batch = 2, steps = 1, data = baleen.data.fake { fields = "features", held_out = 0 },
  optimizer = baleen.optimizer("o"), model = function(x) return x end, loss = function(x, label)
    local y = )" +
           expression + "\n    return ops.sum(ops.float(y)), 1\n  end }\n";
  }

  void expect(const std::string& expression, const Shape& shape, const std::vector<double>& numbers) {
    const Tensor got = value(expression);
    EXPECT_EQ(got.shape, shape) << expression;
    ASSERT_EQ(got.data.size(), numbers.size()) << expression;
    for (std::size_t i = 0; i < numbers.size(); ++i)
      EXPECT_NEAR(got[i], numbers[i], 1e-12) << expression << " at " << i;
  }
  /// f of every element of x.
  void expect_each(const std::string& expression, double (*f)(double)) {
    std::vector<double> numbers;
    for (double x : {1.0, -2.0, 3.0, -4.0, 0.5, 0.25, -1.0, 2.0}) numbers.push_back(f(x));
    expect(expression, {2, 4}, numbers);
  }
};

TEST_F(Ops, Unary) {
  expect_each("-x", [](double x) { return -x; });
  expect_each("ops.abs(x)", [](double x) { return std::abs(x); });
  expect_each("ops.sign(x)", [](double x) { return x > 0 ? 1.0 : -1.0; });
  expect_each("ops.floor(x)", [](double x) { return std::floor(x); });
  expect_each("ops.sqrt(x * x)", [](double x) { return std::abs(x); });
  expect_each("ops.rsqrt(x * x)", [](double x) { return 1 / std::abs(x); });
  expect_each("ops.exp(x)", [](double x) { return std::exp(x); });
  expect_each("ops.log(ops.abs(x))", [](double x) { return std::log(std::abs(x)); });
  expect_each("ops.sin(x)", [](double x) { return std::sin(x); });
  expect_each("ops.cos(x)", [](double x) { return std::cos(x); });
  expect_each("ops.tanh(x)", [](double x) { return std::tanh(x); });
  expect_each("ops.erf(x)", [](double x) { return std::erf(x); });
  expect_each("ops.sigmoid(x)", [](double x) { return 1 / (1 + std::exp(-x)); });
  expect_each("ops.relu(x)", [](double x) { return x > 0 ? x : 0.0; });
  expect_each("ops.silu(x)", [](double x) { return x / (1 + std::exp(-x)); });
  expect_each("ops.gelu(x)", [](double x) { return x * 0.5 * (1 + std::erf(x / std::sqrt(2.0))); });
  expect_each("ops.is_finite(x)", [](double) { return 1.0; });
  expect_each("x:relu()", [](double x) { return x > 0 ? x : 0.0; });
}

TEST_F(Ops, Binary) {
  expect_each("x + 1", [](double x) { return x + 1; });
  expect_each("1 - x", [](double x) { return 1 - x; });
  expect_each("x * x", [](double x) { return x * x; });
  expect_each("2 / x", [](double x) { return 2 / x; });
  expect_each("x ^ 2", [](double x) { return x * x; });
  expect_each("ops.max(x, 0.5)", [](double x) { return std::max(x, 0.5); });
  expect_each("ops.min(x, 0.5)", [](double x) { return std::min(x, 0.5); });
  expect_each("ops.lt(x, 1)", [](double x) { return x < 1 ? 1.0 : 0.0; });
  expect_each("ops.le(x, 1)", [](double x) { return x <= 1 ? 1.0 : 0.0; });
  expect_each("ops.eq(x, 1)", [](double x) { return x == 1 ? 1.0 : 0.0; });
  expect_each("ops.ne(x, 1)", [](double x) { return x != 1 ? 1.0 : 0.0; });
  expect_each("ops.where(ops.lt(x, 0), 7, x)", [](double x) { return x < 0 ? 7.0 : x; });
}

TEST_F(Ops, BroadcastLeadingDimensions) {
  expect("x + ops.index({ 4 }, 1)", {2, 4}, {1, -1, 5, -1, 0.5, 1.25, 1, 5});
  expect("x * ops.sum(x, 2, true)", {2, 4}, {-2, 4, -6, 8, 0.875, 0.4375, -1.75, 3.5});
}

TEST_F(Ops, FunctionsOfElementsAreOneOp) {
  const std::string expression = "ops.pointwise(function(a, b) return a * 2 + b * ops.index(-1) end, x, x)";
  expect(expression, {2, 4}, {2, -6, 12, -20, 1, 0.75, -4, 10});
  auto script = loaded(text_of(expression));
  EXPECT_EQ(ops_of(script->job().train(), "pointwise").size(), 3u) << "the function, the cast, the weight";
  expect("select(2, ops.pointwise(function(a) return a, -a end, x))", {2, 4}, {-1, 2, -3, 4, -0.5, -0.25, 1, -2});
}

TEST_F(Ops, Reductions) {
  expect("ops.sum(x, 2)", {2}, {-2, 1.75});
  expect("x:sum(1)", {4}, {1.5, -1.75, 2, -2});
  expect("ops.sum(x, { 1, 2 }, true)", {1, 1}, {-0.25});
  expect("ops.mean(x, -1)", {2}, {-0.5, 0.4375});
  expect("ops.amax(x, 2)", {2}, {3, 2});
}

TEST_F(Ops, Shapes) {
  expect("ops.reshape(x, { 4, -1 })", {4, 2}, {1, -2, 3, -4, 0.5, 0.25, -1, 2});
  expect("ops.transpose(x, { 2, 1 })", {4, 2}, {1, 0.5, -2, 0.25, 3, -1, -4, 2});
  expect("ops.slice(x, 2, 2, 2)", {2, 2}, {-2, 3, 0.25, -1});
  expect("ops.concat({ ops.slice(x, 2, 4, 1), ops.slice(x, 2, 1, 1) }, -1)", {2, 2}, {-4, 1, 2, 0.5});
  expect("ops.pad(ops.slice(x, 2, 1, 1), 2, 1, 2)", {2, 4}, {0, 1, 0, 0, 0, 0.5, 0, 0});
}

TEST_F(Ops, Contractions) {
  expect("ops.matmul('ab,cb->ac', x, x)", {2, 2}, {30, -11, -11, 5.3125});
  expect("ops.matmul('ab,cb->ac', x, x, ops.constant(1, { 2, 2 }))", {2, 2}, {31, -10, -10, 6.3125});
  expect("ops.embedding(ops.transpose(x, { 2, 1 }), label)", {2, 2}, {3, -1, 1, 0.5});
}

TEST_F(Ops, Choices) {
  expect("select(1, ops.top_k(x, 2))", {2, 2}, {3, 1, 2, 0.5});
  expect("select(2, ops.top_k(x, 2))", {2, 2}, {2, 0, 3, 0});
  expect("label", {2}, {2, 0});
}

TEST_F(Ops, SoftmaxAndLosses) {
  const double e1 = std::exp(1.0) + std::exp(-2.0) + std::exp(3.0) + std::exp(-4.0);
  const double e2 = std::exp(0.5) + std::exp(0.25) + std::exp(-1.0) + std::exp(2.0);
  expect("ops.slice(ops.softmax(x), 2, 1, 1)", {2, 1}, {std::exp(1.0) / e1, std::exp(0.5) / e2});
  expect("ops.cross_entropy(x, label)", {2}, {std::log(e1) - 3, std::log(e2) - 0.5});
  expect("ops.cross_entropy(x, label, { ignore_index = 2 })", {2}, {0, std::log(e2) - 0.5});
  const double uniform1 = std::log(e1) + 0.5, uniform2 = std::log(e2) - 0.4375;
  expect("ops.cross_entropy(x, label, { smoothing = 0.25 })", {2},
         {0.75 * (std::log(e1) - 3) + 0.25 * uniform1, 0.75 * (std::log(e2) - 0.5) + 0.25 * uniform2});
}

TEST_F(Ops, Norms) {
  const double rms = std::sqrt((1 + 4 + 9 + 16) / 4.0);
  expect("ops.slice(ops.norm(x, ops.constant(2, { 4 }), nil, { kind = 'rms', epsilon = 0 }), 1, 1, 1)", {1, 4},
         {2 / rms, -4 / rms, 6 / rms, -8 / rms});
  const double deviation = std::sqrt((2.25 + 2.25 + 12.25 + 12.25) / 4);
  expect("ops.slice(ops.norm(x, ops.constant(1, { 4 }), ops.constant(3, { 4 }), { epsilon = 0 }), 1, 1, 1)", {1, 4},
         {3 + 1.5 / deviation, 3 - 1.5 / deviation, 3 + 3.5 / deviation, 3 - 3.5 / deviation});
}

TEST_F(Ops, AttentionOfOneKeyIsItsValue) {
  expect(
      "ops.reshape(ops.attention(x:reshape { 2, 1, 2, 2 }, x:reshape { 2, 1, 2, 2 }, x:reshape { 2, 1, 2, 2 }), { 2, 4 "
      "})",
      {2, 4}, {1, -2, 3, -4, 0.5, 0.25, -1, 2});
}

TEST_F(Ops, AttentionIsCausalOnDemand) {
  const std::string four = "ops.reshape(x, { 1, 2, 1, 4 })";
  const Tensor causal = value("ops.attention(" + four + ", " + four + ", " + four + ", { causal = true })");
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(causal[i], std::vector<double>({1, -2, 3, -4})[i], 1e-12);
  const Tensor full = value("ops.attention(" + four + ", " + four + ", " + four + ")");
  const double near = std::exp(30 / 2.0), far = std::exp(-11 / 2.0);  // scale 1 / sqrt(4)
  EXPECT_NEAR(full[0], (near * 1 + far * 0.5) / (near + far), 1e-12);
}

TEST_F(Ops, LeavesNeedAShape) {
  expect("ops.constant(3, { 2 })", {2}, {3, 3});
  expect("ops.index({ 2, 3 }, 1)", {2, 3}, {0, 0, 0, 1, 1, 1});
  expect("ops.step()", {}, {7});
  const Tensor uniform = value("ops.uniform { 50 }"), normal = value("ops.normal { 50 }");
  double mean = 0;
  for (std::size_t i = 0; i < 50; ++i) {
    EXPECT_GE(uniform[i], 0);
    EXPECT_LT(uniform[i], 1);
    mean += normal[i] / 50;
  }
  EXPECT_NEAR(mean, 0, 5 / std::sqrt(50.0));
}

TEST_F(Ops, DescribeTheirTensors) {
  auto script =
      loaded(text_of("(function() print(x, x.rank, x.dtype, x.shape[2], x.axes[1], label.dtype) return x end)()"));
  ASSERT_TRUE(script);
  EXPECT_EQ(printed_, "tensor fp64 [2 batch, 4]\t2\tfp64\t4\tbatch\tint32\n");
}

TEST_F(Ops, RefuseBadArguments) {
  auto error = [&](const std::string& expression) {
    std::string text = error_of(text_of(expression));
    return text.substr(0, text.find('\n')).substr(sizeof("train.lua:5: ") - 1);
  };
  EXPECT_EQ(error("ops.matmul('ab,cb->ac', x, 3)"), "matmul: `b` is the number 3; it must be a tensor");
  EXPECT_EQ(error("ops.sum(x, 3)"),
            "sum: `dims` is 3, but the tensor [2, 4] has the dimensions 1 to 2 (-1 is the last)");
  EXPECT_EQ(error("ops.sum(x, 0)"),
            "sum: `dims` is 0, but the tensor [2, 4] has the dimensions 1 to 2 (-1 is the last)");
  EXPECT_EQ(error("x + 'a'"), "add: `b` is the string \"a\"; it must be a tensor or a number");
  EXPECT_EQ(error("ops.exp(1)"), "exp: give at least one tensor; for numbers alone there is `math`");
  EXPECT_EQ(error("x:reshape { 3, -1 }"), "reshape: the 8 elements of [2, 4] do not fill [3, -1]");
  EXPECT_EQ(error("x:reshape { -1, -1 }"), "reshape: `shape` [-1, -1] has more than one -1");
  EXPECT_EQ(error("ops.slice(x, 2, 4, 2)"), "slice: 2 from 4 on are not in dimension 2 of [2, 4], which is 4 long");
  EXPECT_EQ(error("x.shap"), "a tensor has no field or method `shap`");
  EXPECT_EQ(error("ops.pointwise(function(a) return a + x end, x)"),
            "add: a whole tensor inside a function of elements; pass it to `pointwise` too");
  EXPECT_EQ(error("ops.pointwise(function() end, x)"), "pointwise: the function of elements returns nothing");
}

}  // namespace
}  // namespace baleen::testing
