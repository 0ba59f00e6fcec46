/// \file Random graphs over a batch.
#include "unit/compiler/plan/batch_graphs.hpp"

#include "unit/compiler/codegen/graphs.hpp"

namespace baleen::test {
namespace {

constexpr std::int64_t kBatch = 12, kDim = 4;

class BatchGraph {
 public:
  explicit BatchGraph(std::uint64_t seed) : random_(seed) {
    rows_ = {m_.batch("x", {kBatch, kDim}), m_.batch("y", {kBatch, kDim})};
    columns_ = {m_.transpose(rows_[0], {1, 0})};
    vectors_ = {m_.parameter("p", {kDim}), m_.parameter("q", {kDim})};
    scalars_ = {m_.sum(rows_[1], {0, 1})};
  }

  Graph grow(int size) {
    for (int i = 0; i < size; ++i) grow_one();
    for (int i = 0; i < 3; ++i) {
      m_.output("row" + std::to_string(i), m_.sum(recent(rows_), {0}));
      m_.output("column" + std::to_string(i), m_.sum(recent(columns_), {0, 1}));
      m_.output("scalar" + std::to_string(i), recent(scalars_));
    }
    m_.assign(vectors_[0], recent(vectors_));
    m_.assign(vectors_[1], recent(vectors_));
    m_.graph.remove_dead();
    return std::move(m_.graph);
  }

 private:
  std::size_t below(std::size_t n) { return random_() % n; }
  ValueId recent(const std::vector<ValueId>& pool) {
    return pool[pool.size() - 1 - below(std::min<std::size_t>(pool.size(), 5))];
  }
  /// Bounded functions, so that nothing explodes.
  ValueId unary(ValueId x) {
    return m_.unary(std::array<std::uint32_t, 4>{BALEEN_X_SIN, BALEEN_X_TANH, BALEEN_X_NEG, BALEEN_X_SIGMOID}[below(4)],
                    x);
  }
  ValueId binary(ValueId a, ValueId b) {
    return m_.binary(std::array<std::uint32_t, 3>{BALEEN_X_ADD, BALEEN_X_SUB, BALEEN_X_MUL}[below(3)], a, b);
  }
  ValueId mask(Shape shape) {
    Expression e;
    const auto noise = e.random(BALEEN_X_UNIFORM, below(3));
    return m_.op("pointwise", {},
                 {{"expression", std::move(e)},
                  {"results", Attributes::ints({noise})},
                  {"shape", std::move(shape)},
                  {"dtype", Attributes::ints({BALEEN_F64})}});
  }

  void grow_one() {
    std::vector<ValueId>& batch = below(2) ? rows_ : columns_;
    const bool is_row = &batch == &rows_;
    switch (below(10)) {
      case 0: batch.push_back(unary(recent(batch))); break;
      case 1: batch.push_back(binary(recent(batch), recent(batch))); break;
      case 2: batch.push_back(m_.binary(BALEEN_X_MUL, recent(batch), mask(m_.shape(batch[0])))); break;
      case 3:
        batch.push_back(binary(recent(batch), m_.reshape(recent(vectors_), is_row ? Shape{1, kDim} : Shape{kDim, 1})));
        break;
      case 4: batch.push_back(binary(recent(batch), m_.unary(BALEEN_X_SIN, recent(scalars_)))); break;
      case 5: (is_row ? columns_ : rows_).push_back(m_.transpose(recent(batch), {1, 0})); break;
      case 6: vectors_.push_back(m_.unary(BALEEN_X_TANH, m_.sum(recent(batch), {is_row ? 0 : 1}))); break;
      case 7: scalars_.push_back(m_.scale(m_.sum(recent(batch), {0, 1}), 0.1)); break;
      case 8: scalars_.push_back(binary(recent(scalars_), recent(scalars_))); break;
      default: vectors_.push_back(binary(recent(vectors_), is_row ? recent(vectors_) : recent(scalars_)));
    }
  }

  GraphMaker m_;
  std::mt19937_64 random_;
  std::vector<ValueId> rows_, columns_, vectors_, scalars_;
};

}  // namespace

Graph random_batch_graph(std::uint64_t seed, int size) { return BatchGraph(seed).grow(size); }

}  // namespace baleen::test
