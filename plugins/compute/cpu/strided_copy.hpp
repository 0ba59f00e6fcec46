/// \file Copies between two layouts of one shape.
#pragma once
#include "threads.hpp"
#include "walk.hpp"

namespace baleen::cpu {

/// A copy of elements of 1, 2, 4 or 8 bytes. Transpositions go by square blocks.
class StridedCopy {
 public:
  StridedCopy() = default;
  /// Strides in elements.
  StridedCopy(std::size_t element_bytes, std::span<const std::int64_t> shape, std::span<const std::int64_t> to,
              std::span<const std::int64_t> from);

  void run(const Threads& threads, void* to, const void* from) const;

 private:
  template <class Unit>
  void run_as(const Threads& threads, Unit* to, const Unit* from) const;

  std::size_t element_bytes_ = 1;
  Walk outer_;  // operands: to, from
  std::int64_t rows_ = 1, columns_ = 1;
  std::int64_t to_row_ = 0, to_column_ = 1, from_row_ = 0, from_column_ = 1;
};

}  // namespace baleen::cpu
