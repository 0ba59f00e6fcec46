/// \file Cuts a row of layers into stages of like cost and memory. Pure: it knows numbers only.
#pragma once
#include <cstdint>
#include <vector>

#include "baleen/strategy.hpp"

namespace baleen::pipeline {

using namespace sdk;

/// What one layer costs.
struct LayerCost {
  double work = 0;        ///< of its passes for one micro-batch, in any unit
  double held_bytes = 0;  ///< all the time: parameters, their gradients and states
  double kept_bytes = 0;  ///< from the forward to the backward pass of one micro-batch
};

struct CutRequest {
  std::vector<LayerCost> layers;         ///< in the order in which they run
  std::vector<std::uint32_t> in_flight;  ///< by stage: micro-batches whose `kept_bytes` it holds at once
  double most_bytes = 0;                 ///< that a stage may hold; 0: any
};

/// The number of layers of each stage, one at least. The work of the stage with the most is as small as it can be
/// within `most_bytes`, up to kSlack; of all such cuts the one whose fullest stage holds least, and then the one whose
/// stages differ least. INVALID where there are fewer layers than stages, or no cut keeps within the bytes.
Result<std::vector<std::uint32_t>> cut_layers(const CutRequest& request);

/// So much more work than the least is given away for less memory.
inline constexpr double kSlack = 0.02;

}  // namespace baleen::pipeline
