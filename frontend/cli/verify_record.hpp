/// \file What a run of `baleen verify` came to: losses, evaluations and all that lives between steps.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "baleen/graph.h"
#include "core/runtime/session.hpp"
#include "frontend/cli/commands.hpp"

namespace baleen::app {

/// Sums of a tensor's numbers with random signs: those of two tensors differ by about the norm of their difference
/// (Alon, Matias and Szegedy, The space complexity of approximating the frequency moments, 1996).
using Sketch = std::array<double, 8>;
Sketch sketch_of(const std::vector<double>& numbers);

struct Record {
  /// What the script's loop asked for with `evaluate`, when `steps` were done.
  struct Evaluation {
    std::int64_t steps = 0;
    Facts facts;  ///< "held_out_loss" and metrics
  };
  struct Tensor {
    std::string name;
    std::vector<double> numbers;
  };

  std::vector<double> losses;  ///< of each step
  std::vector<Evaluation> evaluations;
  std::vector<Tensor> parameters;  ///< at the end
  std::vector<Tensor> states;      ///< the optimizer's, and its count of updates
  /// As the ranks behind the first have these parameters, and then these states.
  std::vector<std::vector<Sketch>> replicas;
  std::vector<Tensor> first_gradients;  ///< of the first step that counts; kept in fp32
  baleen_dtype_t coarsest = BALEEN_F32;
};

/// Runs the script to its end and keeps what it comes to; `alone`: on one rank, whatever the manifest says.
Result<Record> record(const VerifyOptions& options, const Setup& setup, bool alone);

}  // namespace baleen::app
