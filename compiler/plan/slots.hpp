/// \file Which tensors an optimizer keeps for a parameter between steps.
#pragma once
#include <string>
#include <vector>

#include "baleen/optimizer.h"
#include "compiler/plan/job.hpp"
#include "core/plugin/plugin.hpp"

namespace baleen {

struct SlotSpec {
  std::string name;
  ValueType type;
  double initial = 0;
  /// Per dimension the parameter's that it follows, -1: none. Empty where the slot is laid out as its parameter, or has
  /// no dimensions.
  std::vector<int> follows = {};
};

/// An optimizer as it was opened.
struct OpenedOptimizer {
  const Plugin& plugin;
  const baleen_optimizer_t& table;
  void* self = nullptr;
};

/// What the optimizer says of one parameter, checked. Errors name the optimizer, the slot and the numbers.
Result<std::vector<SlotSpec>> slots_of(const OpenedOptimizer& optimizer, const ParameterSpec& parameter,
                                       const baleen_settings_t* settings);

}  // namespace baleen
