/// \file Distributes slots over places.
#include "core/runtime/offload_places.hpp"

#include <algorithm>
#include <numeric>

#include "compiler/codegen/memory.hpp"
#include "core/runtime/session_memory.hpp"

namespace baleen {
namespace {

constexpr std::uint64_t kBlock = 4096;

/// Bytes per run of the program that moves most of it, by slot.
std::vector<std::uint64_t> most_moved(const JobPrograms& programs, std::size_t slots) {
  std::vector<std::uint64_t> most(slots);
  for (const JobProgram& one : programs.programs) {
    if (one.role == GraphRole::initialize) continue;
    for (const auto& [slot, moved] : offload_traffic_by_slot(one.program.executable()))
      most[slot] = std::max(most[slot], moved.put + moved.got);
  }
  return most;
}

Error no_room(const std::vector<OutsideSlot>& slots, const std::vector<OffloadPlace>& places) {
  std::string text = "what a rank keeps outside the device takes " + bytes_text(taken_by(slots)) + " in blocks of " +
                     bytes_text(kBlock) + ", each value in one place, and there is room for";
  for (const OffloadPlace& place : places)
    text += (&place == &places.front() ? " " : ", ") + bytes_text(place.budget->bytes) + " in `" + place.name + "`";
  return {BALEEN_NO_MEMORY,
          text + ". What would help: a greater `budget_mb` of one of them, or none for the last; less outside",
          places.back().budget->where};
}

}  // namespace

std::uint64_t taken_by(const std::vector<OutsideSlot>& slots) {
  std::uint64_t taken = 0;
  for (const OutsideSlot& slot : slots) taken += align_up(slot.bytes, kBlock);
  return taken;
}

std::uint64_t taken_of_host(const std::vector<OffloadPlace>& places, const PlacedSlots& placed) {
  std::uint64_t taken = 0;
  for (std::size_t i = 0; i < placed.uses.size(); ++i) taken += places[i].is_memory ? placed.uses[i].taken : 0;
  return taken;
}

Result<PlacedSlots> place_slots(const JobPrograms& programs, const std::vector<OffloadPlace>& places) {
  const std::vector<OutsideSlot> slots = programs.all_slots();
  const std::vector<std::uint64_t> moved = most_moved(programs, slots.size());
  const auto often = [&](std::size_t slot) {
    const std::uint64_t bytes = slots[slot].bytes;
    return bytes == 0 ? 0.0 : static_cast<double>(moved[slot]) / static_cast<double>(bytes);
  };
  std::vector<std::uint32_t> order(slots.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(order, std::greater(), often);

  PlacedSlots placed{std::vector<std::uint32_t>(slots.size()), std::vector<PlaceUse>(places.size())};
  std::vector<std::uint64_t> left;
  for (const OffloadPlace& place : places) left.push_back(place.budget ? place.budget->bytes : UINT64_MAX);
  for (const std::uint32_t slot : order) {
    const std::uint64_t bytes = align_up(slots[slot].bytes, kBlock);
    const auto room = std::ranges::find_if(left, [&](std::uint64_t free) { return bytes <= free; });
    if (room == left.end()) return no_room(slots, places);
    if (*room != UINT64_MAX) *room -= bytes;
    placed.places[slot] = static_cast<std::uint32_t>(room - left.begin());
    PlaceUse& use = placed.uses[placed.places[slot]];
    ++use.slots;
    use.bytes += slots[slot].bytes;
    use.taken += bytes;
  }
  return placed;
}

OffloadTraffic PlacedSlots::moved(const Executable& program, std::size_t place) const {
  OffloadTraffic sum;
  for (const auto& [slot, traffic] : offload_traffic_by_slot(program))
    if (places[slot] == place) sum.add(traffic);
  return sum;
}

void add_places(const std::vector<OffloadPlace>& places, const PlacedSlots& placed,
                std::map<std::string, std::uint64_t>& planned) {
  if (places.size() < 2 || !planned.contains("offloaded")) return;
  for (std::size_t i = 0; i < places.size(); ++i) planned["offloaded." + places[i].name] = placed.uses[i].bytes;
}

}  // namespace baleen
