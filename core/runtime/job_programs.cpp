/// \file Compiles the programs of a plan one after the other.
#include "core/runtime/job_programs.hpp"

#include <algorithm>

#include "core/execute/offload_store.hpp"
#include "core/execute/persistent_layout.hpp"

namespace baleen {

bool wants_host_updates(const Plan& plan) {
  const auto updates = [](const PlannedGraph& one) {
    return one.role == GraphRole::train || one.role == GraphRole::learn;
  };
  return std::ranges::any_of(plan.graphs, updates) &&
         std::ranges::any_of(plan.persistent, &PersistentSpec::updated_on_host);
}

/// Who runs updates in the memory of slots; null: nobody.
const Device* JobPrograms::choose_host(const Plan& plan, const Device& device, const Beside& beside) {
  if (!wants_host_updates(plan)) return nullptr;
  if (!beside.store_maps)
    why_on_device = "not all that keeps values outside the device lets its memory be used in place";
  else if (!device.host_reaches() && !moves_directly)
    why_on_device = "the device cannot copy from and to the host's memory by itself";
  else
    return device.host_reaches() ? &device : beside.host;
  return nullptr;
}

Status JobPrograms::compile_all(const Plan& plan, Device& device, const Coordinates& at, const Beside& beside) {
  CompileOptions options;
  options.at = at;
  options.staged = beside.staged;
  persistent = lay_out(plan.persistent, device.info().alignment, plan.mesh, at);
  moves_directly = !device.host_reaches() && beside.store_maps && device.memory()->pin;
  options.stages_transfers = !device.host_reaches() && !moves_directly;
  const Device* const host = choose_host(plan, device, beside);
  for (const PlannedGraph& planned : plan.graphs) {
    options.describes = beside.describes && (planned.role == GraphRole::train || planned.role == GraphRole::learn);
    BALEEN_TRY_ASSIGN(Program program, Program::compile(planned.scheduled, device, persistent, options, host));
    programs.push_back({planned.name, planned.role, planned.inputs, planned.outputs, planned.scalars, planned.stops,
                        std::move(program), planned.from_step});
    options.slots_before = static_cast<std::uint32_t>(outside().size());
    const Executable& made = programs.back().program.executable();
    updates_in_place |= made.host_updates.updates > 0;
    updates_beside |= !made.beside.empty();
  }
  return {};
}

JobProgram* JobPrograms::find(GraphRole role) {
  for (JobProgram& one : programs)
    if (one.role == role) return &one;
  return nullptr;
}

JobProgram* JobPrograms::train_at(std::int64_t step) {
  JobProgram* found = nullptr;
  for (JobProgram& one : programs)
    if (one.role == GraphRole::train && one.from_step <= step && (!found || one.from_step > found->from_step))
      found = &one;
  return found;
}

std::vector<const Program*> JobPrograms::all() const {
  std::vector<const Program*> list;
  for (const JobProgram& one : programs) list.push_back(&one.program);
  return list;
}

std::vector<OutsideSlot> JobPrograms::outside() const {
  std::vector<OutsideSlot> slots;
  for (const JobProgram& one : programs) {
    const std::vector<OutsideSlot>& own = one.program.executable().outside;
    slots.insert(slots.end(), own.begin(), own.end());
  }
  return slots;
}

std::vector<OutsideSlot> JobPrograms::all_slots() const {
  std::vector<OutsideSlot> slots;
  for (const PersistentBuffer& buffer : persistent.buffers)
    if (buffer.is_offloaded()) slots.push_back({buffer.spec.name, buffer.bytes});
  for (OutsideSlot& own : outside()) slots.push_back(std::move(own));
  for (const JobProgram& one : programs) mark_in_place(one.program.executable(), slots);
  return slots;
}

std::uint64_t JobPrograms::offloaded_bytes() const {
  std::uint64_t bytes = persistent.offloaded_bytes;
  for (const OutsideSlot& slot : outside()) bytes += slot.bytes;
  return bytes;
}

std::uint32_t JobPrograms::transfers_at_once() const {
  std::uint32_t most = 0;
  for (const JobProgram& one : programs) most = std::max(most, baleen::transfers_at_once(one.program.executable()));
  return most;
}

std::uint64_t JobPrograms::transfer_staging() const {
  std::uint64_t most = 0;
  for (const JobProgram& one : programs) most = std::max(most, one.program.executable().transfer_staging);
  return most;
}

std::uint64_t JobPrograms::beside_bytes() const {
  std::uint64_t most = 0;
  for (const JobProgram& one : programs) most = std::max(most, one.program.executable().beside_bytes);
  return most;
}

StagingBytes JobPrograms::staging() const {
  StagingBytes bytes;
  for (const JobProgram& one : programs) bytes.cover(one.program.staging());
  return bytes;
}

}  // namespace baleen
