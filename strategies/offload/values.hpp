/// \file The values of a graph that may lie outside the device, by kind.
#pragma once
#include <string>
#include <vector>

#include "baleen/strategy.hpp"

namespace baleen::offload {

using namespace sdk;

/// A value that may lie outside. Single numbers are none.
struct Stored {
  baleen_value_t value = BALEEN_NONE;
  std::string name;         ///< of a gradient: its parameter's
  std::uint64_t bytes = 0;  ///< of the rank that has most
  std::int64_t elements = 0;
  bool is_part = false;  ///< of a gradient that is listed too: it goes where that does
  bool waits = false;    ///< a gradient that is kept from step to step
  std::string stage;     ///< which ranks of axes that cut no value have it: those of a pipeline's stage; "": all
};

/// The values of one graph, as strategies see it in the phase `schedule`.
class Values {
 public:
  Values(GraphView graph, const Scheduling& scheduling) : graph_(graph), scheduling_(scheduling) {}

  /// States that the update alone reads, and assigns once; no late gradients.
  std::vector<Stored> states();
  /// Parameters themselves, no compute copies.
  std::vector<Stored> parameters();
  /// What the update reads of each parameter's gradient, and what collectives, casts, sums and joints made that of. Of
  /// a late one what is kept from step to step.
  std::vector<Stored> gradients();
  /// What the forward pass makes and the backward pass reads, or runs again from.
  std::vector<Stored> activations();

  /// Whether the update is that of the step before.
  bool is_late();

 private:
  Stored stored(baleen_value_t id) const;
  bool is_source(const baleen_value_info_t& value, baleen_role_t role);
  bool is_of_update(baleen_value_t id);
  /// Whose gradient a state keeps from step to step; empty: no parameter's.
  std::string late_of(baleen_value_t id);
  baleen_phase_t phase_of(baleen_value_t id) const { return graph_.info(graph_.value(id).producer).phase; }
  /// Inputs of the op that makes a value.
  std::vector<baleen_value_t> origins(baleen_value_t id);
  bool consists_of(baleen_value_t id, baleen_value_t part);
  bool is_view(baleen_op_t id) const;
  bool is_kept(baleen_value_t id);
  void add_gradients(baleen_value_t updated, const std::string& name, std::vector<Stored>& all);

  GraphView graph_;
  const Scheduling& scheduling_;
};

}  // namespace baleen::offload
