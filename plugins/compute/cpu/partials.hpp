/// \file Sums over rows that do not depend on the number of threads: one partial sum per fixed block of rows, then a
/// tree.
#pragma once
#include <algorithm>
#include <cstdint>

#include "kernel.hpp"

namespace baleen::cpu {

/// `rows` cut into blocks of at least `least` rows, at most 64 of them, each with a partial of `width` elements.
class Partials {
 public:
  Partials() = default;
  Partials(std::int64_t rows, std::int64_t least, std::int64_t width) : rows_(rows), width_(width) {
    block_ = std::max(least, (rows + kMost - 1) / kMost);
    blocks_ = std::max<std::int64_t>(1, (rows + block_ - 1) / block_);
    stride_ = (width + 15) / 16 * 16;
  }

  std::int64_t blocks() const { return blocks_; }
  std::int64_t width() const { return width_; }
  std::int64_t stride() const { return stride_; }  ///< elements from one partial to the next
  std::int64_t begin(std::int64_t block) const { return block * block_; }
  std::int64_t end(std::int64_t block) const { return std::min(rows_, (block + 1) * block_); }
  template <class T>
  std::uint64_t bytes() const {
    return padded(static_cast<std::uint64_t>(blocks_ * stride_) * sizeof(T));
  }

  /// Adds all partials into the first, as a balanced tree.
  template <class T>
  void add(const Threads& threads, T* sums) const {
    combine(threads, sums, [](T a, T b) { return a + b; });
  }
  template <class T, class Function>
  void combine(const Threads& threads, T* sums, const Function& function) const {
    constexpr std::int64_t kColumns = 1024;
    threads.pieces(width_, kColumns, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t gap = 1; gap < blocks_; gap *= 2)
        for (std::int64_t block = 0; block + gap < blocks_; block += 2 * gap) {
          T* to = sums + block * stride_;
          const T* from = sums + (block + gap) * stride_;
          for (std::int64_t i = begin; i < end; ++i) to[i] = function(to[i], from[i]);
        }
    });
  }

 private:
  static constexpr std::int64_t kMost = 64;
  std::int64_t rows_ = 0, width_ = 0, block_ = 1, blocks_ = 1, stride_ = 0;
};

}  // namespace baleen::cpu
