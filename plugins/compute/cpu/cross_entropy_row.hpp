/// \file Cross entropy of one row of logits, shared by the plain op and the one fused with its matmul.
#pragma once
#include <algorithm>
#include <cmath>

#include "ids.hpp"

namespace baleen::cpu {

/// Attributes of the op, and the row's formulas: loss = (1-e) nll + e mean(-log p), with label smoothing e.
template <class T>
class CrossEntropyRow {
 public:
  static constexpr std::int64_t kChunk = 2048;  ///< elements of scratch per thread

  /// The classes are dimension `dim` of `operand`, or this rank's part of them: enough for the gradient.
  CrossEntropyRow(const Context& context, const Op& op, const Operand& operand, std::uint32_t dim)
      : f_(context.of<T>()),
        ignore_(op.integer("ignore_index", kNoIgnore)),
        smoothing_(static_cast<T>(op.number("smoothing", 0.0))),
        classes_(operand.extent(dim)),
        held_(operand, dim) {}

  std::int64_t ignore() const { return ignore_; }
  /// Over all ranks: targets are below.
  std::int64_t all_classes() const { return held_.count(); }

  T lse(const T* x, T* scratch) const {
    const T peak = f_.max(x, classes_);
    if (std::isinf(peak)) return peak;
    T sum = 0;
    for (std::int64_t i = 0; i < classes_; i += kChunk)
      sum += f_.exp_shifted(scratch, x + i, peak, std::min(kChunk, classes_ - i));
    return peak + std::log(sum);
  }

  T loss(const T* x, std::int64_t target, T lse) const {
    if (target == ignore_) return T(0);
    const T nll = lse - x[target];
    if (smoothing_ == T(0)) return nll;
    const T mean = f_.sum(x, classes_) / static_cast<T>(classes_);
    return (T(1) - smoothing_) * nll + smoothing_ * (lse - mean);
  }

  /// dx may be x.
  void grad(T* dx, const T* x, std::int64_t target, T lse, T dloss) const {
    if (target == ignore_) {
      std::fill_n(dx, classes_, T(0));
      return;
    }
    f_.exp_shifted(dx, x, lse, classes_);
    const T spread = smoothing_ / static_cast<T>(held_.count());
    for (std::int64_t i = 0; i < classes_; ++i) dx[i] = (dx[i] - spread) * dloss;
    if (const std::int64_t at = held_.find(target); at >= 0) dx[at] -= (T(1) - smoothing_) * dloss;
  }

 private:
  const RoutinesOf<T>& f_;
  std::int64_t ignore_;
  T smoothing_;
  std::int64_t classes_;
  HeldIds held_;
};

}  // namespace baleen::cpu
