/// \file From an Optimizer to the C table of optimizer.h. Included by optimizer.hpp.
#pragma once
#include "baleen/optimizer.hpp"

namespace baleen::sdk {

namespace detail {

inline Status write_slots(const std::vector<Slot>& slots, baleen_slot_t* out, std::uint32_t* count) {
  if (slots.size() > BALEEN_MAX_SLOTS) return internal("an optimizer may have at most 8 slots");
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].dimensions) return internal("slot `" + slots[i].name + "` has dimensions; give it in `slots_of`");
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

/// Where a slot has no dimensions of its own, those of the parameter.
inline Status write_slots(const std::vector<Slot>& slots, const baleen_slots_t& parameter) {
  for (const Slot& slot : slots) {
    std::vector<SlotDimension> dimensions = slot.dimensions.value_or(std::vector<SlotDimension>{});
    if (!slot.dimensions && !slot.scalar)
      for (std::uint32_t d = 0; d < parameter.rank; ++d) dimensions.push_back(SlotsFor(&parameter).dimension(d));
    if (dimensions.size() > BALEEN_MAX_RANK)
      return internal("slot `" + slot.name + "` has more than " + std::to_string(BALEEN_MAX_RANK) + " dimensions");
    baleen_shaped_slot_t out{};
    out.size = sizeof(out);
    out.name = abi(slot.name);
    out.initial = slot.initial;
    out.rank = static_cast<std::uint32_t>(dimensions.size());
    for (std::size_t d = 0; d < dimensions.size(); ++d) {
      out.shape[d] = dimensions[d].extent;
      out.follows[d] = dimensions[d].follows;
    }
    parameter.add(parameter.self, &out);
  }
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
  table.slots_of = [](void* self, const baleen_slots_t* parameter) {
    return guard(Self::of(self).host, [&]() -> Status {
      BALEEN_TRY_ASSIGN(auto slots, Self::of(self).member->slots_of(SlotsFor(parameter)));
      return detail::write_slots(slots, *parameter);
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

}  // namespace baleen::sdk
