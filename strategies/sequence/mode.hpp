/// \file One way to cut the sequence over ranks.
#pragma once
#include "baleen/strategy.hpp"

namespace baleen::sequence_parallel {

using namespace sdk;

/// Chosen by the option `mode`. Called once per graph of the job and phase.
class Mode {
 public:
  virtual ~Mode() = default;
  /// Whether the mesh axis is this strategy's own.
  virtual bool claims_axis() const { return true; }
  virtual Status place(GraphView graph, Placing placing) = 0;
  virtual Status lower(GraphView) { return {}; }
  /// What it costs, in closed form.
  virtual void expect(GraphView graph, Placing placing) const = 0;
};

}  // namespace baleen::sequence_parallel
