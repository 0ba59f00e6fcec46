/// \file One way to cut layers over the ranks of a tensor-parallel group.
#pragma once
#include "baleen/strategy.hpp"

namespace baleen::tensor_parallel {

using namespace sdk;

/// Chosen by the option `mode`. Called once per graph of the job and phase.
class Mode {
 public:
  virtual ~Mode() = default;
  virtual Status rewrite(GraphView) { return {}; }
  virtual Status place(GraphView graph, Placing placing) = 0;
  virtual Status lower(GraphView) { return {}; }
  virtual Status schedule(GraphView, Scheduling) { return {}; }
};

}  // namespace baleen::tensor_parallel
