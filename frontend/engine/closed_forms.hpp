/// \file What a plan's ranks hold and send beside what the strategies say that they should, in closed form.
#pragma once
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compiler/codegen/executable.hpp"
#include "compiler/plan/plan.hpp"
#include "core/execute/traffic.hpp"

namespace baleen::app {

/// One kind of cost of one rank; bytes.
struct ClosedFormCost {
  std::string of;  ///< "parameters", "copies", "gradients", "optimizer", "activations", "sent along data"
  double planned = 0, formula = 0;
  std::vector<std::string> formulas;  ///< by strategy, each once
  double uneven = 0;  ///< by what pieces of this rank differ from even ones, where a dimension cannot be cut evenly

  double ratio() const { return formula > 0 ? planned / formula : planned > 0 ? 1e9 : 1; }
  /// By more than 1 %.
  bool is_beyond() const { return ratio() > 1.01 || ratio() < 0.99; }
  /// By more than 1 % and what unequal pieces explain.
  bool is_off() const { return is_beyond() && std::abs(planned - formula) > 0.01 * formula + uneven; }
};

/// What was planned for the rank at `at`, by kind where the graph alone does not tell.
struct PlannedBytes {
  std::uint64_t copies = 0, held_gradients = 0;
  std::vector<Traffic> traffic;  ///< of a step
};

/// In the order in which a report has them. A kind is left out where strategies do not speak of its values along each
/// axis of several ranks, or where there are no such bytes. "copies" and "gradients" are of plans with
/// several micro-batches, which they outlive; with one they are used up at different times. "activations" are forward
/// values that the backward pass reads, of one micro-batch; pipelines, which hold several, have none.
std::vector<ClosedFormCost> closed_form_costs(const Plan& plan, const PersistentLayout& persistent,
                                              const Coordinates& at, const PlannedBytes& planned);

}  // namespace baleen::app
