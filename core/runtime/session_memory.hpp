/// \file What a session will allocate, known before anything is; and the refusal of what does not fit.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/runtime/job_programs.hpp"

namespace baleen {

/// Bytes by kind and "total" (see Session::planned_bytes). The work arena is the largest program's; its kinds are those
/// of that program's peak, "padding" being what the offsets waste.
std::map<std::string, std::uint64_t> plan_memory(const JobPrograms& programs, const Device& device);

/// Whether bytes of this kind are part of the total.
bool is_on_device(const std::string& kind);

/// What a rank may have on its device: its share of what the device has, and no more than the bound where there is one.
std::uint64_t memory_of_rank(const Device& device, std::int64_t local_ranks, const std::optional<MemoryBudget>& bound);

/// BALEEN_NO_MEMORY with the bytes by kind and what there is, if the total exceeds that. What would help is not said
/// here: `baleen plan` tries it.
Status check_memory(const std::map<std::string, std::uint64_t>& planned, const Device& device, std::int64_t local_ranks,
                    const std::optional<MemoryBudget>& bound = {});

/// BALEEN_NO_MEMORY with the bytes and what would help, if staged collectives pin more than the bound, where there is
/// one, or than the host has for its ranks.
Status check_pinned(const StagingBytes& staging, const std::optional<MemoryBudget>& bound, std::int64_t local_ranks);

/// BALEEN_NO_MEMORY with the bytes and what would help, if that is more in offload stores than the bound allows, where
/// there is one. `taken`: in whole blocks (`taken_by`).
Status check_offloaded(std::uint64_t taken, const std::optional<MemoryBudget>& bound);

/// What a rank takes of its host's memory, beside its program.
struct HostNeed {
  std::uint64_t device = 0;  ///< what it has on its device, where that is the host's memory
  std::uint64_t stores = 0;  ///< of offload stores that keep slots in memory
  std::uint64_t passed = 0;  ///< what collectives, transfers and updates beside the device pass through
  std::uint64_t told = 0;  ///< that the device's options say the host has, where they may; for plans of other machines

  std::uint64_t total() const { return device + stores + passed; }
  /// Whether it has more than what `check_memory` compares.
  bool is_more() const { return stores + passed > 0; }
};

/// `planned`: by `plan_memory`. `stores`: by `taken_of_host`. `host_device`: who runs updates beside the device; null
/// where none are.
HostNeed host_need(const JobPrograms& programs, const std::map<std::string, std::uint64_t>& planned,
                   const Device& device, const Device* host_device, std::uint64_t stores);

/// BALEEN_NO_MEMORY with the bytes and what would help, if so many ranks of a host need more of its memory than is
/// available, which is what it was before they took any, or more than `told` if that is more.
Status check_host(const HostNeed& need, std::uint64_t available, std::int64_t local_ranks);

/// What a rank holds at once beside model states, in whichever of the programs this is most: inputs, activations and
/// their gradients, gathered parameters and scratch. Gradients of parameters do not count, nor what offsets waste.
WorkingBytes working_memory(const std::vector<const Program*>& programs);

/// BALEEN_NO_MEMORY at the budget's place, with the bytes by kind, if that exceeds the budget.
Status check_budget(const WorkingBytes& working, const MemoryBudget& budget);

/// "12.3 MiB".
std::string bytes_text(std::uint64_t bytes);

}  // namespace baleen
