/// \file Adds up what a session will allocate and refuses what does not fit.
#include "core/runtime/session_memory.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace baleen {
namespace {

/// "12.3 MiB (12900000 bytes)".
std::string exact_text(std::uint64_t bytes) { return bytes_text(bytes) + " (" + std::to_string(bytes) + " bytes)"; }

}  // namespace

std::string bytes_text(std::uint64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(kUnits)) value /= 1024, ++unit;
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", value, kUnits[unit]);
  return text;
}

bool is_on_device(const std::string& kind) { return !kind.starts_with("pinned") && !kind.starts_with("offloaded"); }

std::map<std::string, std::uint64_t> plan_memory(const JobPrograms& job, const Device& device) {
  std::map<std::string, std::uint64_t> planned;
  const PersistentLayout& persistent = job.persistent;
  const std::vector<const Program*> programs = job.all();
  std::uint64_t accounted = 0;
  for (const PersistentBuffer& buffer : persistent.buffers) {
    const std::uint64_t bytes = buffer.is_offloaded() ? 0 : buffer.bytes;
    planned[buffer.spec.category] += bytes;
    accounted += bytes;
  }
  const auto largest = *std::max_element(programs.begin(), programs.end(), [](const Program* a, const Program* b) {
    return a->memory().arena_bytes < b->memory().arena_bytes;
  });
  const MemoryReport& work = largest->memory();
  planned["inputs"] = work.inputs;
  planned["activations"] = work.activations;
  planned["gradients"] = work.gradients;
  if (work.copies > 0) planned["copies"] = work.copies;
  if (work.fetched > 0) planned["fetched"] = work.fetched;
  planned["scratch"] = work.scratch;
  const std::uint64_t named =
      work.inputs + work.activations + work.gradients + work.copies + work.fetched + work.scratch;
  planned["padding"] = (work.arena_bytes - std::min(work.arena_bytes, named)) + (persistent.bytes - accounted);
  planned["device"] = device.info().private_bytes;
  planned["total"] = persistent.bytes + work.arena_bytes + device.info().private_bytes;
  if (const std::uint64_t pinned = job.staging().total(); pinned > 0) planned["pinned"] = pinned;
  if (const std::uint64_t pinned = job.transfer_staging(); pinned > 0) planned["pinned_states"] = pinned;
  if (const std::uint64_t pinned = job.beside_bytes(); pinned > 0) planned["pinned_updates"] = pinned;
  if (job.slots() > 0) planned["offloaded"] = job.offloaded_bytes();
  return planned;
}

std::uint64_t memory_of_rank(const Device& device, std::int64_t local_ranks, const std::optional<MemoryBudget>& bound) {
  const std::uint64_t share = device.memory_of_rank(local_ranks);
  return bound ? std::min(share, bound->bytes) : share;
}

Status check_memory(const std::map<std::string, std::uint64_t>& planned, const Device& device, std::int64_t local_ranks,
                    const std::optional<MemoryBudget>& bound) {
  const std::uint64_t total = planned.at("total");
  const std::uint64_t have = device.memory_of_rank(local_ranks);
  const bool is_bounded = bound && bound->bytes < have;
  if (total <= memory_of_rank(device, local_ranks, bound)) return {};
  const std::string whose = local_ranks == 1          ? ":"
                            : device.divides_memory() ? " for this rank:"
                                                      : " for each of its " + std::to_string(local_ranks) + " ranks:";
  std::string text = "the plan needs " + exact_text(total) + " and ";
  text += is_bounded ? "a rank may have " + bytes_text(bound->bytes) + " on its device:"
                     : "device `" + std::string(device.info().name) + "` has " + bytes_text(have) + whose;
  for (const auto& [kind, bytes] : planned)
    if (kind != "total" && is_on_device(kind) && bytes > 0) text += " " + kind + " " + bytes_text(bytes) + ",";
  text.back() = '.';
  if (!is_bounded && local_ranks > 1 && device.divides_memory())
    text += " Ranks that share a device divide its memory; options in [compute] say how much each may have.";
  return Error{BALEEN_NO_MEMORY, text, is_bounded ? bound->where : std::string()};
}

Status check_pinned(const StagingBytes& staging, const std::optional<MemoryBudget>& bound, std::int64_t local_ranks) {
  const auto refused = [&](const std::string& have, std::string help, const std::string& where) {
    if (staging.own > 0) help += ", more micro-batches or a smaller batch (smaller sends and receives)";
    return Error{BALEEN_NO_MEMORY,
                 "collectives pass through " + exact_text(staging.total()) + " of pinned memory on each rank (" +
                     bytes_text(StagingBytes::kPlaces * staging.place) + " for pieces under way, " +
                     bytes_text(staging.own) + " for sends and receives) and " + have + ". What would help: " + help,
                 where};
  };
  if (bound && staging.total() > bound->bytes)
    return refused("the bound is " + exact_text(bound->bytes), "a greater bound", bound->where);
  const std::uint64_t host =
      static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGE_SIZE));
  if (staging.total() * static_cast<std::uint64_t>(local_ranks) <= host) return {};
  return refused("the host has " + bytes_text(host) + " for " + std::to_string(local_ranks) + " ranks",
                 "`memory.pinned_mb` in the manifest (smaller pieces, slower), fewer ranks on a host", {});
}

Status check_offloaded(std::uint64_t taken, const std::optional<MemoryBudget>& bound) {
  if (!bound || taken <= bound->bytes) return {};
  return Error{BALEEN_NO_MEMORY,
               "what a rank keeps outside the device takes " + exact_text(taken) +
                   " in blocks of 4096 bytes, and the bound is " + exact_text(bound->bytes) +
                   ". What would help: a greater bound, less outside, more ranks that share the states",
               bound->where};
}

HostNeed host_need(const JobPrograms& programs, const std::map<std::string, std::uint64_t>& planned,
                   const Device& device, const Device* host_device, std::uint64_t stores) {
  HostNeed need;
  if (device.host_reaches()) need.device = planned.at("total"), need.told = device.info().memory_bytes;
  need.stores = stores;
  need.passed = programs.staging().total() + programs.transfer_staging() + programs.beside_bytes();
  if (programs.updates_beside && host_device) need.passed += host_device->info().private_bytes;
  return need;
}

Status check_host(const HostNeed& need, std::uint64_t available, std::int64_t local_ranks) {
  available = std::max(available, need.told);
  if (!need.is_more() || need.total() <= available / static_cast<std::uint64_t>(local_ranks)) return {};
  std::string parts;
  for (const auto& [bytes, what] : {std::pair(need.device, " on its device"), std::pair(need.stores, " outside it"),
                                    std::pair(need.passed, " that passes through pinned memory")})
    if (bytes > 0) parts += (parts.empty() ? "" : ", ") + bytes_text(bytes) + what;
  const std::string ranks = std::to_string(local_ranks);
  return Error{BALEEN_NO_MEMORY,
               "a rank takes " + exact_text(need.total()) + " of its host's memory (" + parts + "), and the host has " +
                   exact_text(available) + (local_ranks == 1 ? "" : " for " + ranks + " ranks") +
                   ". What would help: less in places that are memory of the host, or those on disks" +
                   (local_ranks == 1 ? "" : "; fewer ranks on the host") + ".",
               {}};
}

WorkingBytes working_memory(const std::vector<const Program*>& programs) {
  WorkingBytes most;
  std::uint64_t values = 0;
  for (const Program* program : programs) {
    values = std::max(values, program->memory().working.values);
    if (program->memory().working.total() > most.total()) most = program->memory().working;
  }
  most.values = values;
  return most;
}

Status check_budget(const WorkingBytes& working, const MemoryBudget& budget) {
  if (working.total() <= budget.bytes) return {};
  return Error{BALEEN_NO_MEMORY,
               "a rank holds " + exact_text(working.total()) + " at once beside model states (activations " +
                   bytes_text(working.activations) + ", inputs " + bytes_text(working.inputs) + ", scratch " +
                   bytes_text(working.scratch) + ") and the budget is " + exact_text(budget.bytes) + ".",
               budget.where};
}

}  // namespace baleen
