/// \file Loops of machine code give the bits of the plainest instruction set's functions, one op after the other.
#include "fused_loop.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "alike.hpp"

namespace baleen::cpu {
namespace {

constexpr std::uint32_t kOpcodes[] = {BALEEN_X_ADD, BALEEN_X_SUB,  BALEEN_X_MUL, BALEEN_X_DIV,
                                      BALEEN_X_NEG, BALEEN_X_SQRT, BALEEN_X_ABS, BALEEN_X_SELECT};

template <class T>
struct ExampleOf {
  std::vector<baleen_instruction_t> code;
  std::vector<std::int64_t> results;
  std::vector<typename FusedLoop<T>::Input> inputs;
};

bool is_unary(std::uint32_t opcode) { return opcode >= BALEEN_X_NEG && opcode < BALEEN_X_ADD; }

// Inputs, of which every third is uniform and beside fp32 some have 16 bits, constants, the step, and then random
// operations.
template <class T>
ExampleOf<T> random_example(std::mt19937& random, std::uint32_t inputs, std::uint32_t operations) {
  const auto draw = [&](std::uint32_t below) { return static_cast<std::uint32_t>(random() % below); };
  ExampleOf<T> e;
  for (std::uint32_t i = 0; i < inputs; ++i) {
    e.code.push_back({BALEEN_X_INPUT, i, 0, 0, 0});
    e.inputs.push_back({i % 3 == 2, sizeof(T) == 4 ? static_cast<Storage>(draw(3)) : Storage::kOwn});
  }
  e.code.push_back({BALEEN_X_CONSTANT, 0, 0, 0, 0.75});
  e.code.push_back({BALEEN_X_STEP, 0, 0, 0, 0});
  for (std::uint32_t i = 0; i < operations; ++i) {
    const auto values = static_cast<std::uint32_t>(e.code.size());
    // Mostly of late values, so that chains come out as well as long lives.
    const auto operand = [&] { return draw(2) ? values - 1 - draw(std::min(values, 4u)) : draw(values); };
    const std::uint32_t a = operand();
    const std::uint32_t b = operand();
    e.code.push_back({kOpcodes[draw(std::size(kOpcodes))], a, b, operand(), 0});
  }
  const auto last = static_cast<std::int64_t>(e.code.size()) - 1;
  e.results = {last, last - 1, static_cast<std::int64_t>(draw(static_cast<std::uint32_t>(last)))};
  return e;
}

// Their names stand in those of the cases.
template <class Number, LoopIsa Isa>
struct CaseOf {
  using T = Number;
  static constexpr LoopIsa kIsa = Isa;
};
struct Fp32OnAvx2 : CaseOf<float, LoopIsa::kAvx2> {};
struct Fp64OnAvx2 : CaseOf<double, LoopIsa::kAvx2> {};
struct Fp32OnAvx512 : CaseOf<float, LoopIsa::kAvx512> {};
struct Fp64OnAvx512 : CaseOf<double, LoopIsa::kAvx512> {};

template <class Case>
class FusedLoopOf : public testing::Test {
 protected:
  using T = typename Case::T;
  using Loop = FusedLoop<T>;
  using Example = ExampleOf<T>;
  static constexpr LoopIsa kIsa = Case::kIsa;
  static constexpr Index kCount = 5 * FusedLoop<T>::kLanes;
  static constexpr std::uint64_t kStep = 7;

  void SetUp() override {
    if (kIsa == LoopIsa::kAvx512 && !__builtin_cpu_supports("avx512f")) GTEST_SKIP() << "needs AVX-512";
    if (!__builtin_cpu_supports("avx2")) GTEST_SKIP() << "needs AVX2";
  }

  const RoutinesOf<T>& plain() const {
    if constexpr (sizeof(T) == 4)
      return routines_baseline().f32;
    else
      return routines_baseline().f64;
  }

  /// As their storage holds them: some of 16 bits are too small to be normal numbers there.
  std::vector<std::vector<T>> inputs(const Example& e) {
    std::vector<std::vector<T>> all;
    for (const auto& [uniform, storage] : e.inputs) {
      std::vector<T>& x = all.emplace_back(static_cast<std::size_t>(kCount));
      for (T& value : x) value = static_cast<T>(normal_(random_) * (random_() % 8 ? 1 : 1e-6));
      if (uniform) std::fill(x.begin(), x.end(), x[0]);
      x[3] = uniform ? x[0] : std::numeric_limits<T>::infinity();
      if (!uniform) x[7] = T(-0.0), x[11] = 0, x[13] = std::numeric_limits<T>::quiet_NaN();
      if (storage == Storage::kOwn) continue;
      const std::vector<std::uint16_t> halves = narrowed(x, storage);
      plain().widen(x.data(), halves.data(), storage, kCount);
    }
    return all;
  }

  std::vector<std::uint16_t> narrowed(const std::vector<T>& x, Storage storage) const {
    std::vector<std::uint16_t> halves(x.size());
    plain().narrow(halves.data(), x.data(), storage, kCount);
    return halves;
  }

  std::vector<std::vector<T>> expected(const Example& e, const std::vector<std::vector<T>>& in) const {
    std::vector<std::vector<T>> values;
    for (const baleen_instruction_t& i : e.code) {
      std::vector<T> out(static_cast<std::size_t>(kCount), static_cast<T>(i.constant));
      if (i.opcode == BALEEN_X_INPUT)
        out = in[i.a];
      else if (i.opcode == BALEEN_X_STEP)
        std::fill(out.begin(), out.end(), static_cast<T>(kStep));
      else if (i.opcode != BALEEN_X_CONSTANT)
        plain().tile_op(i.opcode)(out.data(), values[i.a].data(), is_unary(i.opcode) ? nullptr : values[i.b].data(),
                                  i.opcode == BALEEN_X_SELECT ? values[i.c].data() : nullptr, kCount);
      values.push_back(std::move(out));
    }
    std::vector<std::vector<T>> results;
    for (const std::int64_t r : e.results) results.push_back(values[static_cast<std::size_t>(r)]);
    return results;
  }

  static bool in_place(const Example& e, std::size_t output) {
    return output < std::min<std::size_t>(2, e.inputs.size()) && !e.inputs[output].is_uniform &&
           e.inputs[output].storage == Storage::kOwn;
  }

  /// Where `reuse`, the first outputs take the bytes of inputs.
  std::vector<std::vector<T>> got(const FusedLoop<T>& loop, const Example& e, std::vector<std::vector<T>> in,
                                  bool reuse) const {
    std::vector<T> uniforms;
    for (const auto& u : loop.uniforms()) {
      using Source = typename FusedLoop<T>::Uniform::Source;
      uniforms.push_back(u.source == Source::kInput  ? in[u.input][0]
                         : u.source == Source::kStep ? static_cast<T>(kStep)
                                                     : static_cast<T>(u.number));
    }
    std::vector<std::vector<T>> out(e.results.size(), std::vector<T>(static_cast<std::size_t>(kCount)));
    std::vector<std::vector<std::uint16_t>> halves(in.size());
    std::vector<void*> operands;
    for (std::size_t i = 0; i < in.size(); ++i) {
      const Storage storage = e.inputs[i].storage;
      if (storage != Storage::kOwn) halves[i] = narrowed(in[i], storage);
      operands.push_back(storage == Storage::kOwn ? static_cast<void*>(in[i].data()) : halves[i].data());
    }
    for (std::size_t k = 0; k < out.size(); ++k)
      operands.push_back(reuse && in_place(e, k) ? in[k].data() : out[k].data());
    loop.run(operands.data(), uniforms.data(), kCount);
    for (std::size_t k = 0; reuse && k < out.size(); ++k)
      if (in_place(e, k)) out[k] = in[k];
    return out;
  }

  void expect_same_bits(const std::vector<std::vector<T>>& a, const std::vector<std::vector<T>>& b) const {
    for (std::size_t k = 0; k < a.size(); ++k)
      for (std::size_t i = 0; i < a[k].size(); ++i)
        ASSERT_TRUE(are_alike(a[k][i], b[k][i]))
            << "result " << k << ", element " << i << ": " << a[k][i] << " and " << b[k][i];
  }

  std::mt19937 random_{11};
  std::normal_distribution<double> normal_{0, 2};
};
using Types = testing::Types<Fp32OnAvx2, Fp64OnAvx2, Fp32OnAvx512, Fp64OnAvx512>;
TYPED_TEST_SUITE(FusedLoopOf, Types);

TYPED_TEST(FusedLoopOf, GivesTheBitsOfOneOpAfterTheOther) {
  using T = typename TypeParam::T;
  int compiled = 0;
  for (int round = 0; round < 400; ++round) {
    SCOPED_TRACE(round);
    const auto e = random_example<T>(this->random_, 2 + static_cast<std::uint32_t>(this->random_() % 8),
                                     1 + static_cast<std::uint32_t>(this->random_() % 40));
    const auto loop = FusedLoop<T>::compile(this->kIsa, e.code, e.results, e.inputs);
    if (!loop) continue;
    ++compiled;
    const auto in = this->inputs(e), wanted = this->expected(e, in);
    this->expect_same_bits(this->got(*loop, e, in, false), wanted);
    this->expect_same_bits(this->got(*loop, e, in, true), wanted);
  }
  EXPECT_GT(compiled, 200);
}

/// A deep model has thousands of equal expressions, and the system takes only so many stretches of machine code.
TYPED_TEST(FusedLoopOf, IsOneForEqualExpressions) {
  using T = typename TypeParam::T;
  ExampleOf<T> e;
  e.code = {{BALEEN_X_INPUT, 0, 0, 0, 0}, {BALEEN_X_CONSTANT, 0, 0, 0, 0.1}, {BALEEN_X_MUL, 0, 1, 0, 0}};
  e.results = {2};
  e.inputs = {{false}};
  const auto first = FusedLoop<T>::compile(this->kIsa, e.code, e.results, e.inputs);
  ASSERT_TRUE(first);
  EXPECT_EQ(first, FusedLoop<T>::compile(this->kIsa, e.code, e.results, e.inputs));
  auto other = e;
  other.code[1].constant = 0.2;
  EXPECT_NE(first, FusedLoop<T>::compile(this->kIsa, other.code, e.results, e.inputs));
  EXPECT_NE(first, FusedLoop<T>::compile(this->kIsa, e.code, {{0}}, e.inputs));
  EXPECT_NE(first, FusedLoop<T>::compile(this->kIsa, e.code, e.results, {{true}}));
  std::weak_ptr<const FusedLoop<T>> gone;
  for (int i = 0; i < 300; ++i) {
    other.code[1].constant = i;
    const auto loop = FusedLoop<T>::compile(this->kIsa, other.code, e.results, e.inputs);
    ASSERT_TRUE(loop);
    EXPECT_EQ(loop->uniforms().at(0).number, i);
    if (i == 0) gone = loop;
  }
  EXPECT_TRUE(gone.expired());
}

/// More numbers that are the same for all elements than registers: y = ((x + c0) * c1 - c2) + c3 ...
TYPED_TEST(FusedLoopOf, ReadsNumbersAgainThatHaveNoRegister) {
  using T = typename TypeParam::T;
  ExampleOf<T> e;
  e.code.push_back({BALEEN_X_INPUT, 0, 0, 0, 0});
  e.inputs.push_back({false});
  std::uint32_t last = 0;
  const std::uint32_t opcodes[] = {BALEEN_X_ADD, BALEEN_X_MUL, BALEEN_X_SUB, BALEEN_X_DIV};
  for (std::uint32_t i = 0; i < 40; ++i) {
    e.code.push_back({BALEEN_X_CONSTANT, 0, 0, 0, 0.5 + i});
    const auto constant = static_cast<std::uint32_t>(e.code.size()) - 1;
    e.code.push_back({opcodes[i % 4], last, constant, 0, 0});
    last = constant + 1;
  }
  // A choice between two of the first ones, and a result that is a constant.
  e.code.push_back({BALEEN_X_SELECT, 3, 1, 5, 0});
  e.results = {last, last + 1, 39};
  const auto loop = FusedLoop<T>::compile(this->kIsa, e.code, e.results, e.inputs);
  ASSERT_NE(loop, nullptr);
  const auto in = this->inputs(e);
  this->expect_same_bits(this->got(*loop, e, in, false), this->expected(e, in));
}

TYPED_TEST(FusedLoopOf, RefusesWhatItDoesNotKnow) {
  using Loop = FusedLoop<typename TypeParam::T>;
  const std::vector<baleen_instruction_t> code{{BALEEN_X_INPUT, 0, 0, 0, 0}, {BALEEN_X_EXP, 0, 0, 0, 0}};
  EXPECT_EQ(Loop::compile(this->kIsa, code, std::vector<std::int64_t>{1}, {{false}}), nullptr);
}

TEST(FusedLoop, RefusesSixteenBitsBesideFp64) {
  const std::vector<baleen_instruction_t> code{{BALEEN_X_INPUT, 0, 0, 0, 0}, {BALEEN_X_NEG, 0, 0, 0, 0}};
  for (const LoopIsa isa : {LoopIsa::kAvx2, LoopIsa::kAvx512})
    for (const Storage storage : {Storage::kBf16, Storage::kFp16})
      EXPECT_EQ(FusedLoop<double>::compile(isa, code, std::vector<std::int64_t>{1}, {{false, storage}}), nullptr);
}

TEST(FusedLoop, RefusesWithoutInstructions) {
  const std::vector<baleen_instruction_t> code{{BALEEN_X_INPUT, 0, 0, 0, 0}, {BALEEN_X_NEG, 0, 0, 0, 0}};
  EXPECT_EQ(FusedLoop<float>::compile(LoopIsa::kNone, code, std::vector<std::int64_t>{1}, {{false}}), nullptr);
}

TYPED_TEST(FusedLoopOf, RefusesWhatNeedsMoreRegistersThanThereAre) {
  using Loop = FusedLoop<typename TypeParam::T>;
  const std::uint32_t registers = this->kIsa == LoopIsa::kAvx512 ? 32 : 15;
  std::vector<baleen_instruction_t> code;
  std::vector<typename Loop::Input> inputs;
  std::vector<std::int64_t> results;
  for (std::uint32_t i = 0; i < registers + 1; ++i) {
    code.push_back({BALEEN_X_INPUT, i, 0, 0, 0});
    inputs.push_back({false});
    results.push_back(i);
  }
  EXPECT_EQ(Loop::compile(this->kIsa, code, results, inputs), nullptr);
  code.pop_back(), results.pop_back(), inputs.pop_back();
  EXPECT_NE(Loop::compile(this->kIsa, code, results, inputs), nullptr);
}

}  // namespace
}  // namespace baleen::cpu
