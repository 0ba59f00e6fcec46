/// \file The attributes of cross entropy as its kernels' arguments, for the plain op and the one fused with its matmul.
#pragma once
#include "functions.hpp"
#include "walks.hpp"

namespace baleen::cuda {

/// Targets are classes of all ranks.
inline IdRange target_range(const Op& op, const Held& held) {
  return {held.all, op.integer("ignore_index", INT64_MIN)};
}

/// All but the rows and addresses.
inline CrossEntropyArgs cross_entropy_args(const Op& op, const Held& held) {
  CrossEntropyArgs args{};
  args.smoothing = op.number("smoothing", 0.0);
  args.range = target_range(op, held);
  return args;
}
inline CrossEntropyGradArgs cross_entropy_grad_args(const Op& op, const Held& held) {
  CrossEntropyGradArgs args{};
  args.smoothing = op.number("smoothing", 0.0);
  args.range = target_range(op, held);
  args.held = held.runs;
  return args;
}

}  // namespace baleen::cuda
