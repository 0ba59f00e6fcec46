/// \file The kinds of ops that compress: bounds on what quantising loses, exact cases, and right angles.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "baleen/op_kind.hpp"
#include "support/op_library.hpp"
#include "support/places.hpp"
#include "support/seed.hpp"

namespace baleen::test {
namespace {

const baleen_op_kind_t* kind_named(std::string_view name) {
  const auto* found = kind_of_library(built("lib/baleen/plugins/baleen_op_compress.so"), name);
  if (!found) throw std::runtime_error("no kind " + std::string(name));
  return found;
}

/// A matrix in memory, its rows or its columns next to each other.
template <class Element>
struct Held {
  std::int64_t rows, columns;
  bool turned;
  std::vector<Element> data = std::vector<Element>(static_cast<std::size_t>(rows * columns));

  Element& at(std::int64_t r, std::int64_t c) {
    return data[static_cast<std::size_t>(turned ? c * rows + r : r * columns + c)];
  }
  baleen_tensor_t tensor() const {
    baleen_tensor_t made{};
    made.size = sizeof made;
    made.dtype = std::is_same_v<Element, float> ? BALEEN_F32 : BALEEN_I32;
    made.rank = 2;
    made.micro_dim = -1;
    made.shape[0] = rows, made.shape[1] = columns;
    made.stride[0] = turned ? 1 : columns, made.stride[1] = turned ? rows : 1;
    return made;
  }
};

template <class In, class Out>
void compute(std::string_view name, const sdk::AttributeList& attributes, Held<In>& x, Held<Out>& y) {
  const baleen_op_kind_t* kind = kind_named(name);
  ASSERT_NE(kind, nullptr);
  const std::vector<baleen_attribute_t> list = attributes.list();
  const std::uint32_t input = 0, output = 1;
  baleen_op_view_t op{};
  op.size = sizeof op;
  op.kind = kind->name;
  op.inputs = &input, op.input_count = 1;
  op.outputs = &output, op.output_count = 1;
  op.attributes = list.data(), op.attribute_count = list.size();
  const baleen_tensor_t tensors[] = {x.tensor(), y.tensor()};
  void* const addresses[] = {x.data.data(), y.data.data()};
  baleen_cpu_call_t call{};
  call.size = sizeof call;
  call.op = &op;
  call.tensors = tensors, call.tensor_count = 2, call.addresses = addresses;
  call.parallel = [](void*, std::uint64_t count, void (*task)(void*, std::uint64_t), void* context) {
    for (std::uint64_t i = count; i-- > 0;) task(context, i);
  };
  ASSERT_EQ(kind->cpu(kind->self, &call), BALEEN_OK);
}

std::int64_t words_of(std::int64_t columns, std::int64_t bits, std::int64_t block) {
  const std::int64_t per_word = 32 / bits, header = bits == 8 ? 2 : 1;
  return (columns + block - 1) / block * header + (columns + per_word - 1) / per_word;
}

Held<float> restored(Held<float>& x, std::int64_t bits, std::int64_t block, bool turned = false) {
  Held<std::int32_t> words{x.rows, words_of(x.columns, bits, block), turned};
  Held<float> y{x.rows, x.columns, turned};
  sdk::AttributeList format;
  format.integer("bits", bits).integer("block", block);
  compute("quantise", format, x, words);
  format.integer("columns", x.columns);
  compute("dequantise", format, words, y);
  return y;
}

Held<float> random_matrix(std::int64_t rows, std::int64_t columns, bool turned = false) {
  std::mt19937_64 rng(seed());
  std::normal_distribution<float> normal;
  Held<float> x{rows, columns, turned};
  for (float& one : x.data) one = normal(rng);
  return x;
}

/// By block: smallest, largest, mean magnitude.
struct Block {
  float low, high;
  double magnitude;
};
Block block_of(Held<float>& x, std::int64_t row, std::int64_t begin, std::int64_t end) {
  Block found{x.at(row, begin), x.at(row, begin), 0};
  for (std::int64_t c = begin; c < end; ++c) {
    found.low = std::min(found.low, x.at(row, c));
    found.high = std::max(found.high, x.at(row, c));
    found.magnitude += std::fabs(static_cast<double>(x.at(row, c))) / static_cast<double>(end - begin);
  }
  return found;
}

TEST(Quantise, LosesHalfAStepOfEightBitsAtMost) {
  for (const bool turned : {false, true})
    for (const std::int64_t columns : {1, 31, 64, 129, 300}) {
      Held<float> x = random_matrix(3, columns, turned), y = restored(x, 8, 64, turned);
      for (std::int64_t r = 0; r < x.rows; ++r)
        for (std::int64_t c = 0; c < columns; ++c) {
          const std::int64_t begin = c / 64 * 64;
          const Block block = block_of(x, r, begin, std::min(columns, begin + 64));
          EXPECT_NEAR(y.at(r, c), x.at(r, c), 0.5001 * (block.high - block.low) / 255 + 1e-7) << r << ", " << c;
        }
    }
}

TEST(Quantise, KeepsSignsAndTheMeanMagnitudeInOneBit) {
  for (const bool turned : {false, true})
    for (const std::int64_t columns : {1, 33, 64, 100, 257}) {
      Held<float> x = random_matrix(2, columns, turned);
      x.at(0, 0) = 0;
      Held<float> y = restored(x, 1, 32, turned);
      for (std::int64_t r = 0; r < x.rows; ++r)
        for (std::int64_t c = 0; c < columns; ++c) {
          const std::int64_t begin = c / 32 * 32;
          const Block block = block_of(x, r, begin, std::min(columns, begin + 32));
          EXPECT_FLOAT_EQ(y.at(r, c), static_cast<float>(x.at(r, c) >= 0 ? block.magnitude : -block.magnitude));
        }
    }
}

/// Eight bits hold 256 numbers at equal distances exactly, one bit two of opposite signs, and both a constant.
TEST(Quantise, IsExactWhereItCanBe) {
  Held<float> levels{1, 256, false}, signs{1, 64, false}, constant{2, 96, false};
  for (std::int64_t c = 0; c < 256; ++c) levels.at(0, c) = static_cast<float>(c * 37 % 256) * 0.25f - 8;
  for (std::int64_t c = 0; c < 64; ++c) signs.at(0, c) = c % 3 == 0 ? -0.75f : 0.75f;
  std::ranges::fill(constant.data, 0.3f);
  EXPECT_EQ(restored(levels, 8, 256).data, levels.data);
  EXPECT_EQ(restored(signs, 1, 64).data, signs.data);
  EXPECT_EQ(restored(constant, 8, 32).data, constant.data);
  Held<float> half = constant;
  std::ranges::fill(half.data, 0.5f);
  EXPECT_EQ(restored(half, 1, 32).data, half.data);
}

TEST(Quantise, MakesABlockWithoutNumbersNaN) {
  for (const std::int64_t bits : {8, 1})
    for (const float odd : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                            -std::numeric_limits<float>::infinity()}) {
      Held<float> x = random_matrix(1, 96);
      x.at(0, 40) = odd;
      Held<float> y = restored(x, bits, 32);
      for (std::int64_t c = 0; c < 96; ++c) EXPECT_EQ(std::isnan(y.at(0, c)), c / 32 == 1) << bits << " bits, " << c;
    }
}

TEST(Quantise, TakesTheLargestNumbers) {
  Held<float> x{1, 32, false};
  for (std::int64_t c = 0; c < 32; ++c) x.at(0, c) = c % 2 ? 3.4e38f : -3.4e38f;
  Held<float> y = restored(x, 8, 32);
  for (std::int64_t c = 0; c < 32; ++c) EXPECT_NEAR(y.at(0, c) / x.at(0, c), 1, 1e-6);
}

double product(Held<float>& y, std::int64_t a, std::int64_t b) {
  double sum = 0;
  for (std::int64_t r = 0; r < y.rows; ++r) sum += static_cast<double>(y.at(r, a)) * static_cast<double>(y.at(r, b));
  return sum;
}

/// Also of columns that are nearly alike, where one pass of Gram and Schmidt's is far from right angles.
TEST(Orthonormal, MakesRightAngles) {
  for (const bool turned : {false, true}) {
    Held<float> x = random_matrix(200, 6, turned), y{200, 6, turned};
    for (std::int64_t r = 0; r < 200; ++r) x.at(r, 3) = x.at(r, 1) + 1e-3f * x.at(r, 3);
    compute("orthonormal", {}, x, y);
    for (std::int64_t a = 0; a < 6; ++a)
      for (std::int64_t b = 0; b < 6; ++b) EXPECT_NEAR(product(y, a, b), a == b ? 1 : 0, 1e-5) << a << ", " << b;
    for (std::int64_t c = 0; c < 6; ++c) {  // each column of x is in the span
      double missing = product(x, c, c);
      for (std::int64_t a = 0; a < 6; ++a) {
        double part = 0;
        for (std::int64_t r = 0; r < 200; ++r) part += static_cast<double>(y.at(r, a)) * x.at(r, c);
        missing -= part * part;
      }
      EXPECT_NEAR(missing, 0, 1e-3) << c;
    }
  }
}

TEST(Orthonormal, LeavesOutWhatIsSpannedAlready) {
  Held<float> x = random_matrix(50, 4), y{50, 4, false};
  for (std::int64_t r = 0; r < 50; ++r) x.at(r, 2) = 2 * x.at(r, 0) - x.at(r, 1);
  for (std::int64_t r = 0; r < 50; ++r) x.at(r, 3) = 0;
  compute("orthonormal", {}, x, y);
  EXPECT_EQ(product(y, 2, 2), 0);
  EXPECT_EQ(product(y, 3, 3), 0);
  x.at(7, 1) = std::numeric_limits<float>::infinity();
  compute("orthonormal", {}, x, y);
  EXPECT_TRUE(std::isnan(product(y, 1, 1))) << "what is no number is not hidden";
}

}  // namespace
}  // namespace baleen::test
