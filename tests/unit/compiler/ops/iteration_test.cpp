/// \file What `iteration` says of every kind, by doing it: cut along each letter, computed in parts, put together
/// again.
#include <gtest/gtest.h>

#include <set>

#include "support/op_cases.hpp"

namespace baleen {
namespace {

using test::BuiltCase;
using test::Coordinate;
using test::OpCase;
using test::Tensor;

/// Part `part` of two along the dimensions that hold `letter`.
Tensor half(const Tensor& whole, const std::string& letters, char letter, int part) {
  const auto dim = letters.find(letter);
  if (dim == std::string::npos) return whole;
  Shape shape = whole.shape;
  shape[dim] /= 2;
  Tensor result(shape);
  test::for_each(shape, [&](const Coordinate& at) {
    Coordinate from = at;
    from[dim] += part * shape[dim];
    result.at(at) = whole.at(from);
  });
  return result;
}

/// Attributes that name extents of the whole, for a part whose first result has shape `local`.
Attributes localised(const Op& op, const Shape& local) {
  Attributes attributes = op.attributes;
  if (attributes.has("shape")) attributes.set("shape", local);
  if (attributes.has("rows")) attributes.set("rows", Attributes::ints({local[0]}));
  return attributes;
}

/// The op over other inputs.
std::vector<Tensor> compute(const BuiltCase& built, const std::vector<Tensor>& inputs, const Attributes& attributes) {
  Graph graph(&test::builtin_ops());
  std::vector<ValueId> ids;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    ids.push_back(
        *graph.input("x" + std::to_string(i), {built.graph.value(built.op.inputs[i]).dtype, inputs[i].shape, {}}));
  const auto results = graph.append(built.op.kind->name, ids, attributes);
  if (!results) throw std::runtime_error(results.error().text());
  test::ReferenceInterpreter interpreter(graph);
  for (std::size_t i = 0; i < inputs.size(); ++i) interpreter.set("x" + std::to_string(i), inputs[i].data);
  interpreter.run();
  std::vector<Tensor> tensors;
  for (ValueId id : *results) tensors.push_back(interpreter.value(id));
  return tensors;
}

/// Parts of a kind that only a kernel which knows its global indices can compute; the interpreter has none such.
bool needs_global_indices(const Op& op, const Iteration& iteration, char letter) {
  const std::string& kind = op.kind->name;
  if (kind == "embedding") return letter == iteration.inputs[0][0];
  if (kind == "embedding_grad") return letter == iteration.outputs[0][0];
  if (kind == "cross_entropy_grad") return letter == iteration.outputs[0].back();
  if (kind == "linear_cross_entropy_grad") return iteration.outputs[1].find(letter) != std::string::npos;
  return false;
}

std::set<char> letters_of(const Iteration& iteration) {
  std::set<char> letters;
  for (const auto* list : {&iteration.inputs, &iteration.outputs})
    for (const std::string& operand : *list) letters.insert(operand.begin(), operand.end());
  letters.erase('.');
  return letters;
}

bool divisible(const BuiltCase& built, const Iteration& iteration, char letter) {
  auto good = [&](const std::vector<ValueId>& ids, const std::vector<std::string>& letters) {
    for (std::size_t i = 0; i < ids.size(); ++i)
      for (std::size_t d = 0; d < letters[i].size(); ++d)
        if (letters[i][d] == letter && built.values.at(ids[i]).shape[d] % 2 != 0) return false;
    return true;
  };
  return good(built.op.inputs, iteration.inputs) && good(built.op.outputs, iteration.outputs);
}

void check_cut(const BuiltCase& built, const Iteration& iteration, char letter) {
  std::vector<Tensor> sums;
  for (int part = 0; part < 2; ++part) {
    std::vector<Tensor> inputs;
    for (std::size_t i = 0; i < built.op.inputs.size(); ++i)
      inputs.push_back(half(built.values.at(built.op.inputs[i]), iteration.inputs[i], letter, part));
    const Shape local = half(built.values.at(built.op.outputs[0]), iteration.outputs[0], letter, part).shape;
    const auto results = compute(built, inputs, localised(built.op, local));
    for (std::size_t r = 0; r < results.size(); ++r) {
      const Tensor& whole = built.values.at(built.op.outputs[r]);
      if (iteration.outputs[r].find(letter) != std::string::npos) {
        EXPECT_LT(test::difference(results[r], half(whole, iteration.outputs[r], letter, part)), 1e-12)
            << "part " << part << " of result " << r;
      } else if (part == 0) {
        sums.push_back(results[r]);
      } else {
        Tensor sum = sums.at(0);
        sums.erase(sums.begin());
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += results[r][i];
        EXPECT_LT(test::difference(sum, whole), 1e-12) << "the sum of the parts of result " << r;
      }
    }
  }
}

void check_linear(const BuiltCase& built, const std::vector<std::uint32_t>& set, std::uint64_t seed) {
  std::mt19937_64 rng(seed);
  std::vector<Tensor> first, second;
  for (std::size_t i = 0; i < built.op.inputs.size(); ++i) {
    first.push_back(built.values.at(built.op.inputs[i]));
    second.push_back(first.back());
    if (std::find(set.begin(), set.end(), i) == set.end()) continue;
    for (std::size_t n = 0; n < first.back().size(); ++n) {
      const double share = std::normal_distribution<double>()(rng);
      second.back()[n] = first.back()[n] - share;
      first.back()[n] = share;
    }
  }
  const auto a = compute(built, first, built.op.attributes), b = compute(built, second, built.op.attributes);
  for (std::size_t r = 0; r < a.size(); ++r) {
    Tensor sum = a[r];
    for (std::size_t n = 0; n < sum.size(); ++n) sum[n] += b[r][n];
    EXPECT_LT(test::difference(sum, built.values.at(built.op.outputs[r])), 1e-10) << "result " << r;
  }
}

/// Kernels count a causal mask's queries from the last one on, whatever their place in the whole: none may be missing.
TEST(IterationOfAttention, CutsQueriesOnlyWithoutACausalMask) {
  Graph graph(&test::builtin_ops());
  std::vector<ValueId> qkv;
  for (const char* name : {"q", "k", "v"}) qkv.push_back(*graph.input(name, {BALEEN_F64, {2, 4, 2, 3}, {}}));
  for (const std::int64_t causal : {0, 1}) {
    Attributes attributes;
    attributes.set("scale", Attributes::floats({1}));
    attributes.set("causal", Attributes::ints({causal}));
    const auto made = graph.append("attention", qkv, attributes);
    ASSERT_TRUE(made) << made.error().text();
    std::vector<ValueId> inputs = qkv;
    for (ValueId more : {(*made)[0], (*made)[1], (*made)[0]}) inputs.push_back(more);
    const auto grad = graph.append("attention_grad", inputs, attributes);
    ASSERT_TRUE(grad) << grad.error().text();
    for (ValueId value : {(*made)[0], (*grad)[0]}) {
      const Op& op = *graph.producer(value);
      const Iteration iteration = iteration_of(graph, op);
      EXPECT_EQ(iteration.inputs[0], causal ? "b.h." : "bsh.") << op.kind->name;
      EXPECT_EQ(iteration.outputs[0], causal ? "b.h." : "bsh.") << op.kind->name;
    }
  }
}

class IterationRule : public testing::TestWithParam<OpCase> {};

TEST_P(IterationRule, NamesEveryDimension) {
  const BuiltCase built(GetParam(), 1);
  ASSERT_TRUE(built.op.kind->iteration);
  const Iteration iteration = iteration_of(built.graph, built.op);
  ASSERT_EQ(iteration.inputs.size(), built.op.inputs.size());
  ASSERT_EQ(iteration.outputs.size(), built.op.outputs.size());
  for (std::size_t i = 0; i < iteration.inputs.size(); ++i)
    EXPECT_EQ(iteration.inputs[i].size(), built.values.at(built.op.inputs[i]).shape.size()) << "input " << i;
  for (std::size_t i = 0; i < iteration.outputs.size(); ++i)
    EXPECT_EQ(iteration.outputs[i].size(), built.values.at(built.op.outputs[i]).shape.size()) << "output " << i;
  const auto letters = letters_of(iteration);
  for (const auto& internal : iteration.internal) {
    EXPECT_TRUE(letters.contains(internal.letter));
    EXPECT_GT(internal.count, 0);
    for (char c : internal.over) EXPECT_TRUE(letters.contains(c)) << c;
  }
}

TEST_P(IterationRule, PartsCutAlongALetterMakeTheWhole) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const BuiltCase built(GetParam(), seed, {.even = true});
    const Iteration iteration = iteration_of(built.graph, built.op);
    for (char letter : letters_of(iteration)) {
      SCOPED_TRACE(GetParam().name + ", seed " + std::to_string(seed) + ", letter " + letter);
      const bool internal = std::any_of(iteration.internal.begin(), iteration.internal.end(),
                                        [&](const auto& i) { return i.letter == letter; });
      if (internal || needs_global_indices(built.op, iteration, letter) || !divisible(built, iteration, letter))
        continue;
      check_cut(built, iteration, letter);
    }
  }
}

TEST_P(IterationRule, LinearSetsAreLinear) {
  const BuiltCase built(GetParam(), 3);
  for (const auto& set : iteration_of(built.graph, built.op).linear) {
    std::string text;
    for (std::uint32_t i : set) text += " " + std::to_string(i);
    SCOPED_TRACE(GetParam().name + ", inputs" + text);
    check_linear(built, set, 5);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, IterationRule, testing::ValuesIn(test::op_cases()),
                         test::case_name<testing::TestParamInfo<OpCase>>);

using Sets = std::vector<std::vector<std::uint32_t>>;

Iteration iteration_of(const std::string& name) {
  for (const OpCase& c : test::op_cases())
    if (c.name == name) {
      const BuiltCase built(c, 1, {.even = true});
      return iteration_of(built.graph, built.op);
    }
  throw std::runtime_error("no case " + name);
}

TEST(IterationRule, EveryKindHasACase) {
  std::set<std::string> covered;
  for (const OpCase& c : test::op_cases()) covered.insert(BuiltCase(c, 1).op.kind->name);
  for (const OpKind* kind : test::builtin_ops().all())
    EXPECT_TRUE(kind->has(kStructural) || covered.contains(kind->name)) << kind->name;
}

TEST(IterationRule, SaysInWhichInputsAMatmulIsLinear) {
  EXPECT_EQ(iteration_of("matmul mk,kn->mn").linear, (Sets{{0}, {1}}));
  EXPECT_EQ(iteration_of("matmul with an addend").linear, (Sets{{0, 2}, {1, 2}}));
  EXPECT_EQ(iteration_of("matmul bsd,dhe->bshe").inputs, (std::vector<std::string>{"bsd", "dhe"}));
}

TEST(IterationRule, OfAReshapeLeavesOutWhatNoCutDivides) {
  EXPECT_EQ(iteration_of("reshape of blocks that one cut divides").inputs, std::vector<std::string>{"a."});
  Graph graph(&test::builtin_ops());
  const ValueId x = *graph.input("x", {BALEEN_F64, {3, 4, 5}, {}});
  const ValueId y = *graph.append1("reshape", {x}, {{"shape", Attributes::ints({4, 3, 5})}});
  const Iteration letters = iteration_of(graph, *graph.producer(y));
  EXPECT_EQ(letters.inputs, std::vector<std::string>{"..b"});
  EXPECT_EQ(letters.outputs, std::vector<std::string>{"..b"});
}

TEST(IterationRule, FindsTheLinearSetsOfAnExpression) {
  Graph graph(&test::builtin_ops());
  std::vector<ValueId> x;
  for (const char* name : {"a", "b", "c"}) x.push_back(*graph.input(name, {BALEEN_F64, {2, 2}, {}}));
  Expression e;  // a * c + b * c
  const auto c = e.input(2);
  const auto first = e.binary(BALEEN_X_MUL, e.input(0), c);
  const auto sum = e.binary(BALEEN_X_ADD, first, e.binary(BALEEN_X_MUL, e.input(1), c));
  const Op& op = *graph.producer(*graph.pointwise(x, e, sum));
  EXPECT_EQ(iteration_of(graph, op).linear, (Sets{{0, 1}, {2}}));
}

TEST(IterationRule, ADropoutMaskKeepsAnExpressionLinear) {
  Graph graph(&test::builtin_ops());
  const ValueId x = *graph.input("x", {BALEEN_F64, {2}, {}});
  Expression e;
  const auto kept = e.binary(BALEEN_X_LE, e.constant(0.1), e.random(BALEEN_X_UNIFORM, 7));
  const auto y = e.select(kept, e.binary(BALEEN_X_DIV, e.input(0), e.constant(0.9)), e.constant(0));
  const Op& op = *graph.producer(*graph.pointwise({x}, e, y));
  EXPECT_EQ(iteration_of(graph, op).linear, (Sets{{0}}));
}

}  // namespace
}  // namespace baleen
