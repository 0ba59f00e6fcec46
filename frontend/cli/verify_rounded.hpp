/// \file A job in fp64 whose values have no more digits than those of a run in fewer: how far rounding alone goes.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "baleen/base.h"
#include "compiler/plan/job.hpp"

namespace baleen::app {

/// The dtypes that a run's plan has where strategies have rewritten what the script described: by the graph's name and
/// the op's number, which rewriting keeps.
struct PlannedDtypes {
  struct OfOp {
    std::string kind;
    std::vector<baleen_dtype_t> inputs, outputs;
  };
  std::map<std::string, std::map<OpId, OfOp>> graphs;

  /// To be called after each pass, as a PassObserver is.
  void note(const std::string& phase, const Graph& graph);
};

/// How values are rounded.
struct Rounding {
  baleen_dtype_t dtype = BALEEN_F32;       ///< the coarsest that the run computes in
  const PlannedDtypes* planned = nullptr;  ///< the run's; null: every value but those of sums, norms and losses
  /// Which of many random ones (Monte Carlo arithmetic: Parker, 1997); 0: each value is rounded to the nearest number.
  /// Others first move it by as much as a sum in fp32 may be off, unless its digits suffice as it is: rounding makes a
  /// whole one of that where the sum lies between two numbers. In fp64 that is all.
  std::uint64_t draw = 0;
  /// Of a draw: values stay, and what goes back through each is changed by up to so many roundings of its dtype. So
  /// nothing is decided otherwise, and what is seen is how far terms cancel.
  double roundings = 0;
  /// Of such a draw: what several ranks or micro-batches may add up is made of two terms, cut at random, and each is
  /// rounded before they are added: a sum over what is contracted, and the gradient of what many elements read.
  bool in_parts = false;
};

/// What the job's graphs with a loss read and compute is rounded, where the run does so too: a value to the dtype that
/// it has there. Where the plan has no value of `dtype` (8 bits come later, in products alone), or rewriting has
/// replaced an op, it is `dtype` for all but what is summed and what norms, softmax and losses make. Before it is
/// planned.
Status round_values(Job& job, const Rounding& rounding);

}  // namespace baleen::app
