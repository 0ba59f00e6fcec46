/// \file From a contraction to products that BLAS takes.
#include <algorithm>

#include "contraction.hpp"

namespace baleen::cuda {
namespace {

constexpr std::size_t kMostTurns = 64;

/// A matrix of `rows` by `columns` with these strides as a column-major one, or its transpose as one.
std::optional<GemmPlan::Matrix> store(std::int64_t rows, std::int64_t row_stride, std::int64_t columns,
                                      std::int64_t column_stride, bool may_transpose) {
  const auto fits = [](std::int64_t inner, std::int64_t inner_stride, std::int64_t outer, std::int64_t outer_stride) {
    return (inner == 1 || inner_stride == 1) && (outer == 1 || outer_stride >= inner);
  };
  if (fits(rows, row_stride, columns, column_stride))
    return GemmPlan::Matrix{false, rows, columns, columns == 1 ? rows : column_stride, 0};
  if (may_transpose && fits(columns, column_stride, rows, row_stride))
    return GemmPlan::Matrix{true, columns, rows, rows == 1 ? columns : row_stride, 0};
  return std::nullopt;
}

/// A matrix whose depth is innermost.
std::optional<GemmPlan::Matrix> store_by_depth(std::int64_t depth, std::int64_t depth_stride, std::int64_t others,
                                               std::int64_t stride, bool transposed) {
  auto matrix = store(depth, depth_stride, others, stride, false);
  if (matrix) matrix->transposed = transposed;
  return matrix;
}

/// All combinations of the loops' counters.
std::vector<GemmPlan::Turn> combine(std::vector<GemmPlan::Turn> turns, const std::vector<Loop>& loops, bool sums) {
  for (const Loop& loop : loops) {
    std::vector<GemmPlan::Turn> next;
    for (std::int64_t i = 0; i < loop.extent && next.size() <= kMostTurns; ++i)
      for (const GemmPlan::Turn& turn : turns)
        next.push_back({turn.a + i * loop.a, turn.b + i * loop.b, turn.y + i * loop.y, turn.adds || (sums && i > 0)});
    turns = std::move(next);
  }
  return turns;
}

/// The loop of a group that is a matrix's dimension, and the others.
struct Chosen {
  Loop loop;
  std::vector<Loop> rest;
};

std::vector<Chosen> choices(const std::vector<Loop>& group) {
  if (group.empty()) return {{}};
  std::vector<Chosen> out;
  for (std::size_t i = 0; i < group.size(); ++i) {
    out.push_back({group[i], group});
    out.back().rest.erase(out.back().rest.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return out;
}

/// The plan with these matrices, if there is one.
std::optional<GemmPlan> plan_with(const std::vector<Loop>& batches, const Chosen& m, const Chosen& n, const Chosen& k,
                                  bool swapped, GemmForm form) {
  const Loop &rows = swapped ? n.loop : m.loop, &columns = swapped ? m.loop : n.loop, &depth = k.loop;
  const auto result = store(rows.extent, rows.y, columns.extent, columns.y, false);
  const std::int64_t rows_apart = swapped ? rows.b : rows.a, columns_apart = swapped ? columns.a : columns.b,
                     left_depth = swapped ? depth.b : depth.a, right_depth = swapped ? depth.a : depth.b;
  const bool is_any = form == GemmForm::kAny;
  const auto left = is_any ? store(rows.extent, rows_apart, depth.extent, left_depth, true)
                           : store_by_depth(depth.extent, left_depth, rows.extent, rows_apart, true);
  const auto right = is_any ? store(depth.extent, right_depth, columns.extent, columns_apart, true)
                            : store_by_depth(depth.extent, right_depth, columns.extent, columns_apart, false);
  if (!result || !left || !right) return std::nullopt;
  std::vector<Loop> outer = batches;
  outer.insert(outer.end(), m.rest.begin(), m.rest.end());
  outer.insert(outer.end(), n.rest.begin(), n.rest.end());
  Loop batch;
  if (!outer.empty()) {
    const auto longest =
        std::max_element(outer.begin(), outer.end(), [](const Loop& x, const Loop& y) { return x.extent < y.extent; });
    batch = *longest;
    outer.erase(longest);
  }
  if (rows.extent == 0 || columns.extent == 0 || depth.extent == 0 || batch.extent == 0) return std::nullopt;
  GemmPlan plan{swapped, *left, *right, *result, rows.extent, columns.extent, depth.extent, batch.extent, {}};
  plan.left.batch_stride = swapped ? batch.b : batch.a;
  plan.right.batch_stride = swapped ? batch.a : batch.b;
  plan.result.batch_stride = batch.y;
  plan.turns = combine(combine({{}}, outer, false), k.rest, true);
  if (plan.turns.empty() || plan.turns.size() > kMostTurns) return std::nullopt;
  return plan;
}

/// Fewer calls are better, then larger matrices.
bool better(const GemmPlan& one, const GemmPlan& other) {
  if (one.turns.size() != other.turns.size()) return one.turns.size() < other.turns.size();
  return one.rows * one.columns * one.depth > other.rows * other.columns * other.depth;
}

}  // namespace

std::optional<GemmPlan> plan_gemm(const Contraction& c, GemmForm form) {
  std::optional<GemmPlan> best;
  for (const Chosen& m : choices(c.m))
    for (const Chosen& n : choices(c.n))
      for (const Chosen& k : choices(c.k))
        for (const bool swapped : {true, false}) {
          auto plan = plan_with(c.batch, m, n, k, swapped, form);
          if (plan && (!best || better(*plan, *best))) best = std::move(plan);
        }
  return best;
}

}  // namespace baleen::cuda
