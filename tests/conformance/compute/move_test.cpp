/// \file Ops that move elements, and top_k.
#include <algorithm>
#include <numeric>

#include "conformance/compute/harness.hpp"

namespace baleen::conformance {
namespace {

class Move : public ComputeTest {
 protected:
  void expect_same(const OpSpec& op, const std::vector<Tensor>& in, const Tensor& out) { expect(op, in, {out}, 0); }
  // Of floats and of ids.
  std::vector<Tensor> both(const Shape& shape) {
    return {random_tensor(random, shape), random_ids(random, shape, -9, 9)};
  }
};

TEST_P(Move, CopiesWhateverTheStrides) {
  for (const Shape& shape : {Shape{}, {5}, {3, 4}, {2, 3, 4}, {70, 45}, {3, 0}, {2, 1, 3, 1}})
    for (const Tensor& x : both(shape)) expect_same(OpSpec("copy"), {x}, x);
}
TEST_P(Move, CopiesBroadcastInput) {
  Tensor x = random_tensor(random, {3, 1, 4}), y = zeros({3, 5, 4});
  each_index(y.shape, [&](const Shape& i) { y[y.at(i)] = x[x.at({i[0], 0, i[2]})]; });
  Tensor wide = y;
  wide.broadcast = {false, true, false};
  expect_same(OpSpec("copy"), {wide}, y);
  // One element for all.
  Tensor same = zeros({4, 16});
  std::fill(same.values.begin(), same.values.end(), 3);
  Tensor one = same;
  one.broadcast = {true, true};
  expect_same(OpSpec("copy"), {one}, same);
}
TEST_P(Move, ReshapesInRowMajorOrder) {
  for (const auto& [from, to] : {std::pair<Shape, Shape>{{6}, {2, 3}},
                                 {{4, 6}, {2, 2, 3, 2}},
                                 {{2, 3, 4}, {24}},
                                 {{3, 4}, {4, 3}},
                                 {{1}, {}},
                                 {{0, 3}, {3, 0}}})
    for (const Tensor& x : both(from)) {
      Tensor y = x;
      y.shape = to;
      expect_same(OpSpec("reshape").integers("shape", to), {x}, y);
    }
}
TEST_P(Move, Transposes) {
  for (const std::vector<std::int64_t>& p : {std::vector<std::int64_t>{0, 1, 2}, {2, 1, 0}, {1, 2, 0}, {0, 2, 1}})
    for (const Tensor& x : both({3, 40, 50})) {
      Shape shape;
      for (const std::int64_t d : p) shape.push_back(x.shape[static_cast<std::size_t>(d)]);
      Tensor y = zeros(shape);
      y.integer = x.integer;
      each_index(shape, [&](const Shape& i) {
        Shape from(3);
        for (std::size_t d = 0; d < 3; ++d) from[static_cast<std::size_t>(p[d])] = i[d];
        y[y.at(i)] = x[x.at(from)];
      });
      expect_same(OpSpec("transpose").integers("permutation", p), {x}, y);
    }
}
TEST_P(Move, SlicesConcatenatesAndPads) {
  for (const std::size_t dim : {0u, 1u, 2u})
    for (const Tensor& x : both({4, 5, 6})) {
      const auto cut = [&](std::int64_t start, std::int64_t length) {
        Shape shape = x.shape;
        shape[dim] = length;
        Tensor y = zeros(shape);
        y.integer = x.integer;
        each_index(shape, [&](Shape i) {
          const std::int64_t to = y.at(i);
          i[dim] += start;
          y[to] = x[x.at(i)];
        });
        return y;
      };
      const auto d = static_cast<std::int64_t>(dim);
      expect_same(OpSpec("slice").integer("dim", d).integer("start", 1).integer("length", 2), {x}, cut(1, 2));
      const std::int64_t n = x.shape[dim];
      expect_same(OpSpec("concat").integer("dim", d), {cut(0, 1), cut(1, 2), cut(3, 0), cut(3, n - 3)}, x);
      Shape wide = x.shape;
      wide[dim] += 3;
      Tensor padded = zeros(wide);
      padded.integer = x.integer;
      each_index(x.shape, [&](Shape i) {
        const double value = x[x.at(i)];
        i[dim] += 2;
        padded[padded.at(i)] = value;
      });
      expect_same(OpSpec("pad").integer("dim", d).integer("before", 2).integer("after", 1), {x}, padded);
    }
}
TEST_P(Move, Accumulates) {
  for (const Shape& shape : {Shape{}, {7}, {3, 50}, {40, 1000}, {0}}) {
    const Tensor a = random_tensor(random, shape), b = random_tensor(random, shape);
    Tensor sum = a;
    for (std::int64_t i = 0; i < sum.size(); ++i) sum[i] += b[i];
    expect(OpSpec("accumulate"), {a, b}, {sum}, tolerance(1e-7, 0));
  }
}
TEST_P(Move, FindsTheLargestInOrder) {
  for (const auto& [rows, n, k] : {std::array<std::int64_t, 3>{1, 1, 1}, {3, 7, 7}, {5, 100, 4}, {0, 5, 2}}) {
    Tensor x = random_tensor(random, {rows, n});
    for (std::int64_t i = 0; i < x.size(); i += 3) x[i] = 0.5;  // ties
    Tensor values = zeros({rows, k}), ids = zeros({rows, k});
    ids.integer = true;
    for (std::int64_t r = 0; r < rows; ++r) {
      std::vector<std::int64_t> order(static_cast<std::size_t>(n));
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(),
                       [&, first = r * n](auto a, auto b) { return x[first + a] > x[first + b]; });
      for (std::int64_t i = 0; i < k; ++i) {
        ids[r * k + i] = static_cast<double>(order[static_cast<std::size_t>(i)]);
        values[r * k + i] = x[r * n + order[static_cast<std::size_t>(i)]];
      }
    }
    expect(OpSpec("top_k").integer("k", k), {x}, {values, ids}, 0);
  }
}

BALEEN_COMPUTE_SUITE(Move);

}  // namespace
}  // namespace baleen::conformance
