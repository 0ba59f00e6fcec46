/// \file An optimizer as a C++ class: derive from Optimizer, then `BALEEN_OPTIMIZER(Mine)`.
#pragma once
#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "baleen/graph.hpp"
#include "baleen/optimizer.h"

namespace baleen::sdk {

/// One parameter about to be updated. A view, valid during the call.
class Update {
 public:
  Update(const baleen_graph_t* graph, const baleen_update_t* update) : graph_(graph), update_(update) {}

  std::string_view name() const { return view(update_->name); }
  Value parameter() const { return {graph_, update_->parameter}; }
  /// Clipped; the mean over the batch; of the parameter's shape.
  Value gradient() const { return {graph_, update_->gradient}; }
  /// Scalar: updates applied before this one.
  Value count() const { return {graph_, update_->count}; }
  std::uint32_t slot_count() const { return update_->slot_count; }
  /// The slot's value before this update, in the order of Optimizer::slots.
  Value slot(std::uint32_t number) const {
    if (number >= update_->slot_count) throw std::out_of_range("this parameter has no slot " + std::to_string(number));
    return {graph_, update_->slots[number]};
  }
  /// The options of the parameter's group.
  Settings settings() const { return Settings(update_->settings); }
  /// A SCHEDULE option as a scalar.
  Value schedule(std::string_view option) const { return {graph_, settings().value(option)}; }

 private:
  const baleen_graph_t* graph_;
  const baleen_update_t* update_;
};

/// A dimension of a slot: one of the parameter's, with its extent and its shards, or one of the slot's own.
struct SlotDimension {
  std::int64_t extent = 1;
  std::int32_t follows = -1;  ///< the parameter's dimension; -1: none
};

/// A tensor kept per parameter. By default of the parameter's shape; `scalar`: one number; `dimensions`: of any shape.
struct Slot {
  std::string name;
  double initial = 0;
  bool scalar = false;
  std::optional<std::vector<SlotDimension>> dimensions = {};
};

/// The parameter whose slots are asked for. A view, valid during the call.
class SlotsFor {
 public:
  explicit SlotsFor(const baleen_slots_t* parameter) : parameter_(parameter) {}

  std::string_view name() const { return view(parameter_->name); }
  baleen_dtype_t dtype() const { return parameter_->dtype; }
  std::span<const std::int64_t> shape() const { return {parameter_->shape, parameter_->rank}; }
  /// The logical axis of a dimension, "" where it has none.
  std::string_view axis(std::size_t dimension) const { return view(parameter_->axes[checked(dimension)]); }
  /// The options of the parameter's group.
  Settings settings() const { return Settings(parameter_->settings); }
  /// A slot's dimension that follows this one of the parameter.
  SlotDimension dimension(std::size_t number) const {
    return {parameter_->shape[checked(number)], static_cast<std::int32_t>(number)};
  }

 private:
  std::size_t checked(std::size_t dimension) const {
    if (dimension < parameter_->rank) return dimension;
    throw std::out_of_range("`" + std::string(name()) + "` has no dimension " + std::to_string(dimension));
  }
  const baleen_slots_t* parameter_;
};

/// What an update comes to: the new parameter and the new slots, in the order of Optimizer::slots.
struct NewValues {
  Value parameter;
  std::vector<Value> slots;
};

/// Base of a member. Called at plan time on one thread. A member also has
/// `static Result<std::unique_ptr<Member>> create(const Host&, const Settings&)`.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  /// BALEEN_OPTIMIZER_ELEMENTWISE where any slice of a parameter may be updated alone; else 0.
  virtual baleen_optimizer_traits_t traits() const = 0;
  /// The slots of a parameter whose group has these settings; refuses settings that contradict each other. A member
  /// overrides this one, or `slots_of` where its slots depend on the parameter or have dimensions.
  virtual Result<std::vector<Slot>> slots(const Settings&) const { return std::vector<Slot>{}; }
  virtual Result<std::vector<Slot>> slots_of(const SlotsFor& parameter) const { return slots(parameter.settings()); }
  /// Sees all updates, in parameter order, before the first `update`; the place for what parameters share.
  virtual Status begin(std::span<const Update> updates) {
    (void)updates;
    return {};
  }
  virtual Result<NewValues> update(const Update& update) = 0;
};

/// 1 - beta^t for a scalar t, the bias correction of Adam's moments (arXiv 1412.6980, section 3).
/// Written with tanh, since in fp32 the plain difference keeps only four digits while beta^t is near 1:
/// 1 - exp(-2x) = 2 tanh(x) / (1 + tanh(x)).
inline Value one_minus_power(double beta, Value t) {
  if (beta == 0) return 0.0 * t + 1.0;
  const Value h = tanh(t * (-0.5 * std::log(beta)));
  return 2.0 * h / (1.0 + h);
}

}  // namespace baleen::sdk

#include "baleen/optimizer_table.hpp"

/// Exports `Member` (a baleen::sdk::Optimizer) as this plugin. Once, at global scope, behind BALEEN_DESCRIPTOR.
#define BALEEN_OPTIMIZER(Member) BALEEN_EXPORT_TABLE(baleen::sdk::optimizer_table<Member>())
