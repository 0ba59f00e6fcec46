/// \file Which of a manifest's places outside the device holds what, decided when programs are compiled.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/runtime/job_programs.hpp"

namespace baleen {

/// A place outside the device, as an offload member keeps it.
struct OffloadPlace {
  std::string name;                    ///< of the member; where it keeps several places, the others end with ".2", ".3"
  std::optional<MemoryBudget> budget;  ///< what a rank may have there
  bool is_memory = false;              ///< what lies there takes memory of the host
};

/// What lies in a place.
struct PlaceUse {
  std::uint64_t slots = 0, bytes = 0;
  std::uint64_t taken = 0;  ///< in whole blocks

  bool is_used() const { return slots > 0; }
};

struct PlacedSlots {
  std::vector<std::uint32_t> places;  ///< by slot: the number of its place
  std::vector<PlaceUse> uses;         ///< by place

  /// What a run of one of the programs moves to and from that place.
  OffloadTraffic moved(const Executable& program, std::size_t place) const;
};

/// Bytes that slots take in stores, each in whole blocks of 4096.
std::uint64_t taken_by(const std::vector<OutsideSlot>& slots);

/// Of what was placed, the bytes that take memory of the host.
std::uint64_t taken_of_host(const std::vector<OffloadPlace>& places, const PlacedSlots& placed);

/// Nearest place first, slots that are moved most often per byte first (in a run of the program that moves them most):
/// each lies in the first place that has room for it. A slot counts as whole blocks of 4096 bytes there; a store with
/// larger ones may refuse a little less. NO_MEMORY, with the bytes and the place of the last budget, where not all
/// slots have room; `places` are not empty.
Result<PlacedSlots> place_slots(const JobPrograms& programs, const std::vector<OffloadPlace>& places);

/// Adds "offloaded.NAME" of each place to planned bytes by kind, where there are several.
void add_places(const std::vector<OffloadPlace>& places, const PlacedSlots& placed,
                std::map<std::string, std::uint64_t>& planned);

}  // namespace baleen
