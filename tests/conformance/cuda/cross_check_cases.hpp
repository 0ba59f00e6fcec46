/// \file One example of every op that has a kernel, with fresh random inputs.
#pragma once
#include <functional>

#include "conformance/compute/harness.hpp"

namespace baleen::conformance {

/// An op to compute on both devices.
struct CrossCase {
  std::string name;
  OpSpec op;
  std::vector<Tensor> inputs, outputs;  ///< of the outputs, shapes and kinds
};

/// Computes an op on the reference: backward ops need what their forward op give.
using Compute = std::function<std::vector<Tensor>(const OpSpec&, const std::vector<Tensor>&, std::vector<Tensor>)>;

std::vector<CrossCase> cross_cases(std::mt19937_64& random, const Compute& reference);

}  // namespace baleen::conformance
