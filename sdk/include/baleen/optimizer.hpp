/// \file An optimizer as a C++ class: derive from Optimizer, then `BALEEN_OPTIMIZER(Mine)`.
#pragma once
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "baleen/graph.hpp"
#include "baleen/optimizer.h"

namespace baleen {

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

/// A tensor kept per parameter: of the parameter's shape, or one number. The name has at most 15 characters.
struct Slot {
  std::string name;
  double initial = 0;
  bool scalar = false;
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
  /// The slots of a parameter whose group has these settings; refuses settings that contradict each other.
  virtual Result<std::vector<Slot>> slots(const Settings& settings) const = 0;
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

namespace detail {

inline Status write_slots(const std::vector<Slot>& slots, baleen_slot_t* out, std::uint32_t* count) {
  if (slots.size() > BALEEN_MAX_SLOTS) return internal("an optimizer may have at most 8 slots");
  for (std::size_t i = 0; i < slots.size(); ++i) {
    baleen_slot_t slot{};
    if (slots[i].name.size() >= sizeof(slot.name)) return internal("slot name `" + slots[i].name + "` is too long");
    std::copy(slots[i].name.begin(), slots[i].name.end(), slot.name);
    slot.initial = slots[i].initial;
    slot.scalar = slots[i].scalar ? 1 : 0;
    out[i] = slot;
  }
  *count = static_cast<std::uint32_t>(slots.size());
  return {};
}

inline Status write_update(const NewValues& values, baleen_update_t* out) {
  if (values.slots.size() != out->slot_count) return internal("update gave a wrong number of slots");
  out->new_parameter = values.parameter.id();
  for (std::size_t i = 0; i < values.slots.size(); ++i) out->new_slots[i] = values.slots[i].id();
  return {};
}

}  // namespace detail

/// The C table of a member.
template <class Member>
baleen_optimizer_t optimizer_table() {
  using Self = Instance<Optimizer>;
  baleen_optimizer_t table{};
  table.create = &create_instance<Optimizer, Member>;
  table.destroy = &Self::destroy;
  table.traits = [](void* self) {
    return guard_value(Self::of(self).host, baleen_optimizer_traits_t{},
                       [&] { return Self::of(self).member->traits(); });
  };
  table.slots = [](void* self, const baleen_settings_t* settings, baleen_slot_t* out, std::uint32_t* count) {
    return guard(Self::of(self).host, [&]() -> Status {
      BALEEN_TRY_ASSIGN(auto slots, Self::of(self).member->slots(Settings(settings)));
      return detail::write_slots(slots, out, count);
    });
  };
  table.begin = [](void* self, const baleen_graph_t* graph, const baleen_update_t* updates, std::uint64_t count) {
    return guard(Self::of(self).host, [&]() -> Status {
      std::vector<Update> views;
      for (std::uint64_t i = 0; i < count; ++i) views.emplace_back(graph, &element(updates, i));
      return Self::of(self).member->begin(views);
    });
  };
  table.update = [](void* self, const baleen_graph_t* graph, baleen_update_t* update) {
    return guard(Self::of(self).host, [&]() -> Status {
      BALEEN_TRY_ASSIGN(auto values, Self::of(self).member->update(Update(graph, update)));
      return detail::write_update(values, update);
    });
  };
  return table;
}

}  // namespace baleen

/// Exports `Member` (a baleen::Optimizer) as this plugin. Once, at global scope, behind BALEEN_DESCRIPTOR.
#define BALEEN_OPTIMIZER(Member) BALEEN_EXPORT_TABLE(baleen::optimizer_table<Member>())
