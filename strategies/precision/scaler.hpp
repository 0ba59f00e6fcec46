/// \file Loss scaling: the loss's cotangent times a scale, gradients divided by it again, and a step whose gradients
/// are not finite left out (Micikevicius et al., arXiv 1710.03740, section 3.2).
#pragma once
#include <string>

#include "baleen/strategy.hpp"

namespace baleen::precision {

using namespace sdk;

enum class Scaling { none, fixed, dynamic };

struct ScalerOptions {
  Scaling scaling = Scaling::none;
  double initial = 65536;  ///< the scale at the start; the scale where it is fixed
  double growth = 2;       ///< factor after `interval` good steps in a row
  std::int64_t interval = 2000;
  double backoff = 0.5;         ///< factor after a skipped step
  std::int64_t hysteresis = 1;  ///< skipped steps that it takes for the first backoff after growth
  double least = 1;             ///< the scale goes no lower
  std::int64_t patience = 20;   ///< steps in a row that may be skipped there before the run ends
};

/// In which dtype gradients are summed and kept until the update.
enum class GradientDtype { same, fp32 };

/// "65536", "1e-09".
std::string text(double number);

/// What the update reads of the gradients that the backward pass left, and the states of the scale.
class Scaler {
 public:
  Scaler(GraphView graph, Gradients gradients, const ScalerOptions& options, GradientDtype dtype)
      : graph_(graph), gradients_(gradients), options_(options), dtype_(dtype) {}

  /// Whether the step counts, a scalar; empty where every step does.
  Value run();

 private:
  Value value(baleen_value_t id) const { return {graph_.table(), id}; }
  Value state(std::string_view name, double initial);
  baleen_value_t summed(baleen_value_t gradient);
  bool widen(baleen_value_t v);
  void replace_gradients(const Value& inverse);
  Value next_scale(const Value& scale, const Value& finite);
  void count_skipped(const Value& scale, const Value& finite);

  GraphView graph_;
  Gradients gradients_;
  const ScalerOptions& options_;
  GradientDtype dtype_;
};

}  // namespace baleen::precision
