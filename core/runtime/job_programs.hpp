/// \file The programs of a job on one rank, compiled and without memory: what a session runs and what a plan counts.
#pragma once
#include <string>
#include <vector>

#include "core/execute/program.hpp"
#include "core/runtime/count.hpp"

namespace baleen {

/// A compiled graph of a job.
struct JobProgram {
  std::string name;
  GraphRole role = GraphRole::infer;
  std::vector<NamedType> inputs, outputs;  ///< of a named program; shapes of the whole tensors
  std::vector<ScalarSpec> scalars;
  std::vector<StopRule> stops;
  Program program;
  std::int64_t from_step = 0;  ///< of role train: the step from which it is run
  Count runs = 0;              ///< of a program that learns
};

struct JobPrograms {
  PersistentLayout persistent;
  std::vector<JobProgram> programs;  ///< in the order of the plan

  /// What a device with memory of its own needs to know of others.
  struct Beside {
    StagedCollectives staged;
    bool store_maps = false;  ///< slots of the offload store lie in the host's memory
    bool describes = false;   ///< operands of the programs that train
    /// A device that works on the host's memory, for updates that strategies want there, beside one that does not.
    const Device* host = nullptr;
  };
  /// Fills this with the programs of the rank at `at`. Allocates nothing on the device, which outlives them.
  Status compile_all(const Plan& plan, Device& device, const Coordinates& at, const Beside& beside);
  /// The first of this role; null where there is none.
  JobProgram* find(GraphRole role);
  /// That which trains in this step; null where there is none.
  JobProgram* train_at(std::int64_t step);
  std::vector<const Program*> all() const;
  /// Pinned bytes for all of them.
  StagingBytes staging() const;
  /// What programs keep in an offload store beside the persistent tensors; each has slots of its own.
  std::vector<OutsideSlot> outside() const;
  /// In offload stores, in all; 0: none is needed.
  std::size_t slots() const { return persistent.slots + outside().size(); }
  /// By number: those of the persistent layout under the names of its tensors, then those of programs; each with
  /// whether it is used in place.
  std::vector<OutsideSlot> all_slots() const;
  /// In these slots, without what a store rounds up.
  std::uint64_t offloaded_bytes() const;
  /// Transfers that are under way at a time in any of them, at most.
  std::uint32_t transfers_at_once() const;
  /// Whether they are copies of a device with memory of its own, from and to slots.
  bool moves_directly = false;
  /// Pinned bytes that others pass through on such a device.
  std::uint64_t transfer_staging() const;
  /// Whether updates run in the memory of slots, and whether they do so beside the device.
  bool updates_in_place = false, updates_beside = false;
  /// Why updates that strategies want there do not; empty: they do, or none of them wants it.
  std::string why_on_device;
  /// Pinned bytes of updates beside the device.
  std::uint64_t beside_bytes() const;

 private:
  const Device* choose_host(const Plan& plan, const Device& device, const Beside& beside);
};

/// Whether a strategy wants updates to run on the host's cores.
bool wants_host_updates(const Plan& plan);

}  // namespace baleen
