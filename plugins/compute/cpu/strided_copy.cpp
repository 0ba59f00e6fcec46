/// \file Copies block by block.
#include "strided_copy.hpp"

#include <cstring>

namespace baleen::cpu {
namespace {

constexpr std::int64_t kSide = 32;

template <class Unit>
void copy_block(Unit* to, const Unit* from, std::int64_t rows, std::int64_t columns, std::int64_t to_row,
                std::int64_t to_column, std::int64_t from_row, std::int64_t from_column) {
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c) to[r * to_row + c * to_column] = from[r * from_row + c * from_column];
}

}  // namespace

// The last dimension becomes the columns; the rows are the dimension along which `from` is densest, so that a block
// touches few cache lines on both sides.
StridedCopy::StridedCopy(std::size_t element_bytes, std::span<const std::int64_t> shape,
                         std::span<const std::int64_t> to, std::span<const std::int64_t> from)
    : element_bytes_(element_bytes) {
  const std::vector<std::int64_t> strides[] = {{to.begin(), to.end()}, {from.begin(), from.end()}};
  const Walk merged(shape, strides);
  std::vector<std::int64_t> rest;
  std::vector<std::int64_t> rest_strides[2];
  const std::size_t rank = merged.rank();
  std::size_t row_dim = rank;
  if (rank > 0) {
    columns_ = merged.inner();
    to_column_ = merged.inner_stride(0);
    from_column_ = merged.inner_stride(1);
  }
  if (rank > 1) {
    row_dim = rank - 2;
    for (std::size_t dim = 0; dim + 1 < rank; ++dim)
      if (merged.stride(1, dim) < merged.stride(1, row_dim)) row_dim = dim;
    rows_ = merged.extent(row_dim);
    to_row_ = merged.stride(0, row_dim);
    from_row_ = merged.stride(1, row_dim);
  }
  for (std::size_t dim = 0; dim + 1 < rank; ++dim) {
    if (dim == row_dim) continue;
    rest.push_back(merged.extent(dim));
    for (std::size_t i = 0; i < 2; ++i) rest_strides[i].push_back(merged.stride(i, dim));
  }
  outer_ = Walk(rest, rest_strides);
}

template <class Unit>
void StridedCopy::run_as(const Threads& threads, Unit* to, const Unit* from) const {
  const bool packed = to_column_ == 1 && from_column_ == 1;
  // Tasks of about 64 KiB.
  const std::int64_t wanted = (std::int64_t{1} << 16) / static_cast<std::int64_t>(sizeof(Unit));
  std::int64_t rows_each = columns_ >= wanted ? 1 : wanted / (columns_ > 0 ? columns_ : 1);
  if (!packed) rows_each = (rows_each + kSide - 1) / kSide * kSide;
  const std::int64_t columns_each = packed && rows_ == 1 ? wanted : columns_;
  const std::int64_t row_tasks = (rows_ + rows_each - 1) / rows_each;
  const std::int64_t column_tasks = columns_each > 0 ? (columns_ + columns_each - 1) / columns_each : 0;
  threads.each(outer_.size() * row_tasks * column_tasks, [&](std::int64_t task, int) {
    const std::int64_t column = task % column_tasks * columns_each, other = task / column_tasks;
    const std::int64_t row = other % row_tasks * rows_each, outer = other / row_tasks;
    const std::int64_t rows = rows_ - row < rows_each ? rows_ - row : rows_each;
    const std::int64_t columns = columns_ - column < columns_each ? columns_ - column : columns_each;
    Unit* out = to + outer_.offset(0, outer) + row * to_row_ + column * to_column_;
    const Unit* in = from + outer_.offset(1, outer) + row * from_row_ + column * from_column_;
    if (packed) {
      for (std::int64_t r = 0; r < rows; ++r)
        std::memmove(out + r * to_row_, in + r * from_row_, static_cast<std::size_t>(columns) * sizeof(Unit));
      return;
    }
    for (std::int64_t r = 0; r < rows; r += kSide)
      for (std::int64_t c = 0; c < columns; c += kSide)
        copy_block(out + r * to_row_ + c * to_column_, in + r * from_row_ + c * from_column_,
                   rows - r < kSide ? rows - r : kSide, columns - c < kSide ? columns - c : kSide, to_row_, to_column_,
                   from_row_, from_column_);
  });
}

void StridedCopy::run(const Threads& threads, void* to, const void* from) const {
  switch (element_bytes_) {
    case 1: return run_as(threads, static_cast<std::uint8_t*>(to), static_cast<const std::uint8_t*>(from));
    case 2: return run_as(threads, static_cast<std::uint16_t*>(to), static_cast<const std::uint16_t*>(from));
    case 4: return run_as(threads, static_cast<std::uint32_t*>(to), static_cast<const std::uint32_t*>(from));
    default: return run_as(threads, static_cast<std::uint64_t*>(to), static_cast<const std::uint64_t*>(from));
  }
}

}  // namespace baleen::cpu
