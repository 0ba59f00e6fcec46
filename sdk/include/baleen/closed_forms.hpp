/// \file What strategies say of their costs in closed form (strategy.h): shares of all states or activations along one
/// axis at once.
#pragma once
#include <string_view>

#include "baleen/dtype.hpp"
#include "baleen/strategy.hpp"

namespace baleen::sdk {

/// Of a parameter, its states and its gradient: what one rank has of them along an axis.
struct StateShares {
  double parameter = 1, states = 1;
  double gradient = 1;        ///< at the update
  double gradient_left = 1;   ///< where it is summed along other axes
  double parameter_left = 1;  ///< where it is sent along other axes
  bool any_shape = false;     ///< states of other shapes than the parameter's are cut alike
  bool gradient_known = true;
};

/// For people; "": nothing that is worth a line.
struct StateFormulas {
  std::string_view parameter, states, gradient;
};

inline bool has_axis(const baleen_value_info_t& value, std::string_view name) {
  for (std::uint32_t dim = 0; dim < value.rank; ++dim)
    if (view(value.axes[dim]) == name) return true;
  return false;
}

inline double bytes_of(const baleen_value_info_t& value) {
  auto bytes = static_cast<double>(dtype_size(value.dtype));
  for (std::uint32_t dim = 0; dim < value.rank; ++dim) bytes *= static_cast<double>(value.shape[dim]);
  return bytes;
}

/// The forms of one axis. Views; for the time of a call of `place`.
class FormsAlong {
 public:
  FormsAlong(GraphView graph, Placing placing, std::uint32_t axis) : graph_(graph), placing_(placing), axis_(axis) {}

  double ranks() const { return static_cast<double>(placing_.mesh().size(axis_)); }
  /// What each rank sends of what it has in an all-gather or a reduce-scatter, (n - 1)/n of the whole.
  double part() const { return (ranks() - 1) / ranks(); }

  void held(baleen_value_t value, double share, std::string_view formula = {}) {
    placing_.expect(BALEEN_FORM_HELD, value, {&axis_, 1}, share, formula);
  }
  void left(baleen_value_t value, double share) { placing_.expect(BALEEN_FORM_LEFT, value, {&axis_, 1}, share, {}); }
  void sent(baleen_value_t value, double times, std::string_view formula) {
    if (times > 0) placing_.expect(BALEEN_FORM_SENT, value, {&axis_, 1}, times, formula);
  }

  /// `shares_of` a parameter's number; a compute copy is asked for as a parameter of its own.
  template <class SharesOf>
  void states(SharesOf&& shares_of, const StateFormulas& formulas = {}) {
    for (baleen_value_t id = 0; id < graph_.value_count(); ++id) {
      if (graph_.value(id).role != BALEEN_ROLE_PARAMETER) continue;
      const StateShares shares = shares_of(id);
      held(id, shares.parameter, formulas.parameter);
      left(id, shares.parameter_left);
    }
    for (const baleen_trained_t& trained : placing_.trained()) {
      const StateShares shares = shares_of(trained.parameter);
      const baleen_value_info_t parameter = graph_.value(trained.parameter);
      for (std::uint64_t s = 0; s < trained.state_count; ++s) {
        const baleen_value_info_t state = graph_.value(trained.states[s]);
        if (state.rank == 0)
          held(trained.states[s], 1);
        else if (shares.any_shape || shares.states == 1 || state.rank == parameter.rank)
          held(trained.states[s], shares.states, formulas.states);
      }
      if (shares.gradient_known) held(trained.gradient, shares.gradient, formulas.gradient);
      left(trained.gradient, shares.gradient_left);
    }
  }

  /// `share_of` what is known of a forward value.
  template <class ShareOf>
  void activations(ShareOf&& share_of, std::string_view formula = {}) {
    for (baleen_value_t id = 0; id < graph_.value_count(); ++id) {
      const baleen_value_info_t value = graph_.value(id);
      if (value.role != BALEEN_ROLE_ACTIVATION || value.producer == BALEEN_NONE || !is_forward(value)) continue;
      held(id, share_of(value), formula);
    }
  }

  /// Gradients that are summed over the axis once per step: reduced in shards and sent again (Thakur et al. 2005).
  void all_reduced(std::string_view formula) {
    for (const baleen_trained_t& trained : placing_.trained()) sent(trained.gradient, 2 * part(), formula);
  }

 private:
  bool is_forward(const baleen_value_info_t& value) {
    return graph_.op(value.producer) && graph_.info(value.producer).phase == BALEEN_PHASE_FORWARD;
  }

  GraphView graph_;
  Placing placing_;
  std::uint32_t axis_;
};

}  // namespace baleen::sdk
