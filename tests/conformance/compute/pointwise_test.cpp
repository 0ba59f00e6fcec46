/// \file pointwise: expressions, broadcasting, random numbers, coordinates; functions' errors are in accuracy_test.
#include <cmath>

#include "baleen/expression.h"
#include "conformance/compute/harness.hpp"
#include "conformance/compute/reference.hpp"

namespace baleen::conformance {
namespace {

using Code = std::vector<baleen_instruction_t>;

baleen_instruction_t in(std::uint32_t i) { return {BALEEN_X_INPUT, i, 0, 0, 0}; }
baleen_instruction_t constant(double x) { return {BALEEN_X_CONSTANT, 0, 0, 0, x}; }
baleen_instruction_t f(std::uint32_t opcode, std::uint32_t a, std::uint32_t b = 0, std::uint32_t c = 0) {
  return {opcode, a, b, c, 0};
}

class Pointwise : public ComputeTest {
 protected:
  static OpSpec spec(Code code, std::vector<std::int64_t> results) {
    return OpSpec("pointwise").expression(std::move(code), std::move(results));
  }

  // The dtype under test rounds after each instruction.
  double rounded(double x) const { return is_double() ? x : static_cast<double>(static_cast<float>(x)); }

  // One element, by the meaning of the exact instructions (those whose result IEEE fixes).
  std::vector<double> evaluate(const Code& code, const std::vector<double>& x) const {
    std::vector<double> v;
    for (const auto& i : code) {
      const auto a = [&] { return v[i.a]; };
      const auto b = [&] { return v[i.b]; };
      switch (i.opcode) {
        case BALEEN_X_INPUT: v.push_back(x[i.a]); break;
        case BALEEN_X_CONSTANT: v.push_back(rounded(i.constant)); break;
        case BALEEN_X_NEG: v.push_back(-a()); break;
        case BALEEN_X_ABS: v.push_back(std::abs(a())); break;
        case BALEEN_X_FLOOR: v.push_back(std::floor(a())); break;
        case BALEEN_X_SQRT: v.push_back(rounded(std::sqrt(a()))); break;
        case BALEEN_X_SIGN: v.push_back(a() > 0 ? 1 : a() < 0 ? -1 : 0); break;
        case BALEEN_X_RELU: v.push_back(std::max(a(), 0.0)); break;
        case BALEEN_X_ADD: v.push_back(rounded(a() + b())); break;
        case BALEEN_X_SUB: v.push_back(rounded(a() - b())); break;
        case BALEEN_X_MUL: v.push_back(rounded(a() * b())); break;
        case BALEEN_X_DIV: v.push_back(rounded(a() / b())); break;
        case BALEEN_X_MAX: v.push_back(std::max(a(), b())); break;
        case BALEEN_X_MIN: v.push_back(std::min(a(), b())); break;
        case BALEEN_X_LT: v.push_back(a() < b()); break;
        case BALEEN_X_LE: v.push_back(a() <= b()); break;
        case BALEEN_X_EQ: v.push_back(a() == b()); break;
        case BALEEN_X_NE: v.push_back(a() != b()); break;
        case BALEEN_X_SELECT: v.push_back(a() != 0 ? b() : v[i.c]); break;
        default: ADD_FAILURE() << "opcode " << i.opcode << " has no exact meaning here"; v.push_back(0);
      }
    }
    return v;
  }

  // Exactly, in every placement, in place where allowed. Inputs have the outputs' shape or extents of 1, or rank 0.
  void check(const Code& code, const std::vector<std::int64_t>& results, const std::vector<Tensor>& inputs,
             const Shape& shape) {
    std::vector<Tensor> wanted(results.size(), zeros(shape));
    each_index(shape, [&](const Shape& index) {
      std::vector<double> x;
      for (const Tensor& t : inputs) {
        Shape at;
        for (std::size_t d = 0; d < t.shape.size(); ++d) at.push_back(t.shape[d] == 1 ? 0 : index[d]);
        x.push_back(t[t.at(at)]);
      }
      const auto v = evaluate(code, x);
      for (std::size_t k = 0; k < results.size(); ++k)
        wanted[k][wanted[k].at(index)] = v[static_cast<std::size_t>(results[k])];
    });
    expect(spec(code, results), inputs, wanted, 0);
  }
};

// Everything whose result IEEE fixes, over two inputs; the result of all of it is a sum.
Code long_expression() {
  Code code{in(0), in(1), constant(0.3)};
  for (const std::uint32_t op : {BALEEN_X_ADD, BALEEN_X_SUB, BALEEN_X_MUL, BALEEN_X_DIV, BALEEN_X_MAX, BALEEN_X_MIN,
                                 BALEEN_X_LT, BALEEN_X_LE, BALEEN_X_EQ, BALEEN_X_NE})
    code.push_back(f(op, 0, 1));
  for (const std::uint32_t op : {BALEEN_X_NEG, BALEEN_X_ABS, BALEEN_X_FLOOR, BALEEN_X_SIGN, BALEEN_X_RELU})
    code.push_back(f(op, 0));
  code.push_back(f(BALEEN_X_SQRT, 14));
  code.push_back(f(BALEEN_X_SELECT, 9, 3, 2));
  std::uint32_t sum = 3;
  for (std::uint32_t i = 4; i < 20; ++i) {
    code.push_back(f(BALEEN_X_ADD, sum, i));
    sum = static_cast<std::uint32_t>(code.size()) - 1;
  }
  return code;
}

TEST_P(Pointwise, RoundsAfterEveryInstruction) {
  const Code code = long_expression();
  for (const Shape& shape : {Shape{}, {1}, {5}, {3, 7}, {2, 3, 65}, {1030, 3}, {5000}, {3, 2100}, {0}, {4, 0}})
    check(code, {static_cast<std::int64_t>(code.size()) - 1},
          {random_tensor(random, shape), random_tensor(random, shape)}, shape);
}
TEST_P(Pointwise, BroadcastsExtentsOfOneAndScalars) {
  const Code code = long_expression();
  const auto last = static_cast<std::int64_t>(code.size()) - 1;
  for (const auto& [a, b] : {std::pair<Shape, Shape>{{4, 5, 600}, {1, 1, 600}},
                             {{4, 5, 600}, {4, 5, 1}},
                             {{4, 5, 6}, {4, 1, 6}},
                             {{4, 5, 6}, {1, 1, 1}},
                             {{4, 5, 6}, {}},
                             {{4, 1, 6}, {1, 5, 1}}}) {
    Shape shape = a;
    for (std::size_t d = 0; d < b.size(); ++d) shape[d] = std::max(shape[d], b[d]);
    check(code, {last}, {random_tensor(random, a), random_tensor(random, b)}, shape);
    check(code, {last}, {random_tensor(random, b), random_tensor(random, a)}, shape);
  }
}
TEST_P(Pointwise, ReadsInputsOfStrideZero) {
  Tensor x = zeros({6, 70}), y = random_tensor(random, {6, 70});
  each_index(x.shape, [&](const Shape& i) { x[x.at(i)] = static_cast<double>(i[1]); });
  x.broadcast = {true, false};
  check({in(0), in(1), f(BALEEN_X_MUL, 0, 1)}, {2}, {x, y}, {6, 70});
}
TEST_P(Pointwise, GivesSeveralResultsInPlace) {
  // Like AdamW: each result has the layout of an input that others still read.
  const Code code{in(0),
                  in(1),
                  in(2),
                  in(3),
                  constant(0.9),
                  constant(0.1),
                  f(BALEEN_X_MUL, 1, 4),
                  f(BALEEN_X_MUL, 3, 5),
                  f(BALEEN_X_ADD, 6, 7),
                  f(BALEEN_X_MUL, 3, 3),
                  f(BALEEN_X_ADD, 2, 9),
                  f(BALEEN_X_ABS, 10),
                  f(BALEEN_X_SQRT, 11),
                  f(BALEEN_X_ADD, 12, 5),
                  f(BALEEN_X_DIV, 8, 13),
                  f(BALEEN_X_SUB, 0, 14)};
  for (const Shape& shape : {Shape{7}, {30, 50}, {2, 2500}}) {
    const std::vector<Tensor> x{random_tensor(random, shape), random_tensor(random, shape),
                                random_tensor(random, shape), random_tensor(random, shape)};
    check(code, {15, 8, 10}, x, shape);
  }
}
TEST_P(Pointwise, GivesInputsConstantsAndTheSameValueTwice) {
  const Tensor x = random_tensor(random, {40, 60}), y = random_tensor(random, {40, 60});
  check({in(0), in(1), constant(2.5), f(BALEEN_X_ADD, 0, 1)}, {1, 0, 2, 3, 3}, {x, y}, {40, 60});
}
TEST_P(Pointwise, ConvertsIntegers) {
  const Tensor ids = random_ids(random, {5, 33}, -7, 7), x = random_tensor(random, {5, 33});
  check({in(0), in(1), f(BALEEN_X_EQ, 0, 0), f(BALEEN_X_MUL, 0, 1)}, {3}, {ids, x}, {5, 33});
  Tensor whole = zeros({5, 33});
  whole.integer = true;
  for (std::int64_t i = 0; i < x.size(); ++i) whole[i] = std::nearbyint(x[i] * 8);
  expect(spec({in(0), constant(8), f(BALEEN_X_MUL, 0, 1)}, {2}), {x}, {whole}, 0);
}
TEST_P(Pointwise, RoundsToNarrowerTypes) {
  const Tensor x{{6}, {1.0 + 0x1p-9, 1.0 + 0x3p-9, -3.14159274101257324, 65519.0, 1e-7, 0.1}};
  const Tensor bf16{{6}, {1.0, 1.0 + 0x1p-7, -3.140625, 65536.0, 0x1.aep-24, 0x1.9ap-4}};
  expect(spec({in(0), f(BALEEN_X_ROUND, 0, BALEEN_BF16)}, {1}), {x}, {bf16}, 0);
  const Tensor y{{5}, {1.0 + 0x1p-11, 1.0 + 0x3p-11, 65519.0, 65520.0, 0x1.8p-25}};
  const Tensor f16{{5}, {1.0, 1.0 + 0x1p-9, 65504.0, INFINITY, 0x1p-24}};
  expect(spec({in(0), f(BALEEN_X_ROUND, 0, BALEEN_F16)}, {1}), {y}, {f16}, 0);
}
TEST_P(Pointwise, KnowsTheStep) {
  RunOptions options;
  options.step = 123456;
  expect(spec({in(0), {BALEEN_X_STEP, 0, 0, 0, 0}, f(BALEEN_X_ADD, 0, 1)}, {2}), {zeros({3})},
         {Tensor{{3}, {123456, 123456, 123456}}}, 0, true, options);
}

TEST(Philox, GivesThePublishedWords) {
  // The known answers that come with Random123.
  const auto words = [](auto... arguments) {
    const auto p = reference::philox(arguments...);
    return std::vector<std::uint32_t>(p.words, p.words + 4);
  };
  EXPECT_EQ(words(0u, 0u, 0u), (std::vector<std::uint32_t>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(words(0x85a308d3243f6a88u, 0x0370734413198a2eu, 0x299f31d0a4093822u),
            (std::vector<std::uint32_t>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

class Random : public Pointwise {
 protected:
  static constexpr std::uint64_t kSite = 0x123456789abcdef0u;
  OpSpec draw(std::uint32_t opcode) {
    return spec({{opcode, static_cast<std::uint32_t>(kSite), static_cast<std::uint32_t>(kSite >> 32), 0, 0}}, {0});
  }
  static double uniform(std::uint64_t element, const RunOptions& o) {
    return (reference::philox(element, o.step, o.seed ^ kSite).words[0] >> 8) * 0x1p-24;
  }
  static double normal(std::uint64_t element, const RunOptions& o) {
    const reference::Philox random = reference::philox(element, o.step, o.seed ^ kSite);
    const auto& w = random.words;
    return std::sqrt(-2 * std::log(((w[0] >> 8) + 0.5) * 0x1p-24)) *
           std::cos(2 * std::acos(-1.0) * ((w[1] >> 8) * 0x1p-24));
  }
};

TEST_P(Random, DependsOnSeedStepSiteAndElement) {
  for (const Shape& shape : {Shape{3}, {33, 70}, {5, 2, 1100}}) {
    RunOptions options;
    options.seed = 0xfedcba9876543210u;
    options.step = 0x1234567890u;
    Tensor u = zeros(shape), n = zeros(shape);
    for (std::int64_t i = 0; i < u.size(); ++i) {
      u[i] = uniform(static_cast<std::uint64_t>(i), options);
      n[i] = normal(static_cast<std::uint64_t>(i), options);
    }
    expect(draw(BALEEN_X_UNIFORM), {}, {u}, 0, true, options);
    expect(draw(BALEEN_X_NORMAL), {}, {n}, tolerance(1e-7, 1e-14), true, options);
  }
}
TEST_P(Random, CountsElementsInTheGlobalTensor) {
  // Rows 4..5 and 10 of a batch, columns 3..4 and 20..22; the second micro-batch is 3 rows further.
  RunOptions options;
  options.global_shape = {40, 7, 50};
  options.runs = {{{0, 4, 2}, {2, 10, 1}}, {{0, 0, 7}}, {{0, 3, 2}, {2, 20, 3}}};
  options.micro_dim = 0;
  options.micro_step = 3;
  options.micro = 1;
  options.seed = 77;
  const std::int64_t rows[] = {4 + 3, 5 + 3, 10 + 3}, columns[] = {3, 4, 20, 21, 22};
  Tensor u = zeros({3, 7, 5}), where[3] = {u, u, u};
  each_index(u.shape, [&](const Shape& i) {
    const std::int64_t global[] = {rows[i[0]], i[1], columns[i[2]]};
    u[u.at(i)] = uniform(static_cast<std::uint64_t>((global[0] * 7 + global[1]) * 50 + global[2]), options);
    for (std::size_t d = 0; d < 3; ++d) where[d][u.at(i)] = static_cast<double>(global[d]);
  });
  expect(draw(BALEEN_X_UNIFORM), {}, {u}, 0, true, options);
  expect(spec({{BALEEN_X_INDEX, 0, 0, 0, 0}, {BALEEN_X_INDEX, 1, 0, 0, 0}, {BALEEN_X_INDEX, 2, 0, 0, 0}}, {0, 1, 2}),
         {}, {where[0], where[1], where[2]}, 0, true, options);
}
TEST_P(Pointwise, RefusesMalformedExpressions) {
  std::vector<Tensor> out{zeros({2})};
  const Code wrong[] = {{},
                        {f(BALEEN_X_NEG, 0)},
                        {in(1)},
                        {in(0), f(200, 0)},
                        {in(0), f(BALEEN_X_ADD, 0, 2)},
                        {{BALEEN_X_INDEX, 1, 0, 0, 0}}};
  for (const Code& code : wrong)
    EXPECT_EQ(one().run(spec(code, {static_cast<std::int64_t>(code.size()) - 1}), {zeros({2})}, out, dtype()),
              BALEEN_INVALID);
  EXPECT_EQ(one().run(spec({in(0)}, {1}), {zeros({2})}, out, dtype()), BALEEN_INVALID);
}

BALEEN_COMPUTE_SUITE(Pointwise);
BALEEN_COMPUTE_SUITE(Random);

}  // namespace
}  // namespace baleen::conformance
