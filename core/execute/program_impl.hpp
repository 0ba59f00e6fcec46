/// \file A program that is ready to run: an executable, and what binding and connecting it add.
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "core/execute/block_launches.hpp"
#include "core/execute/program.hpp"
#include "core/execute/sequences.hpp"
#include "core/execute/stamps.hpp"

namespace baleen {

/// A call of the transport, prepared by `connect`.
struct ProgramCall {
  struct Slot {
    void* handle = nullptr;
    std::unique_ptr<baleen_event_t> done = std::make_unique<baleen_event_t>();
    std::uint64_t begun = 0;  ///< times; the value of `done` when the last is over
  };

  explicit ProgramCall(const ExecutableCall& call) : what(&call), slots(call.slots), parts(call.parts.size()) {}

  struct Part {
    void* slot = nullptr;
    std::unique_ptr<baleen_event_t> done = std::make_unique<baleen_event_t>();  ///< of a send or receive
  };

  const ExecutableCall* what;  ///< in the program's executable
  std::vector<Slot> slots;     ///< micro-batch m has number m % slots
  // Where it is staged, in place of slots:
  std::unique_ptr<baleen_event_t> done = std::make_unique<baleen_event_t>();
  std::uint64_t begun = 0;
  std::vector<Part> parts;
};

/// A put or get of the offload store.
struct ProgramTransfer {
  explicit ProgramTransfer(const ExecutableTransfer& transfer) : what(&transfer) {
    done->size = sizeof(baleen_event_t);
  }

  const ExecutableTransfer* what;  ///< in the program's executable
  std::unique_ptr<baleen_event_t> done = std::make_unique<baleen_event_t>();
  std::uint64_t begun = 0;  ///< times; the value of `done` when the last is over
};

/// A launch on the host's cores beside the device.
struct ProgramBeside {
  ProgramBeside() { done->size = sizeof(baleen_event_t); }

  std::unique_ptr<baleen_event_t> done = std::make_unique<baleen_event_t>();
  std::uint64_t begun = 0;  ///< times; the value of `done` when the last is over
};

struct ProgramImpl {
  ProgramImpl(Executable made, Device& on)
      : executable(std::move(made)), device(&on), sequences(on), block_launches(BlockLaunches::of(on)) {
    for (const ExecutableCall& call : executable.calls) calls.emplace_back(call);
    for (const ExecutableTransfer& transfer : executable.transfers) transfers.emplace_back(transfer);
    beside.resize(executable.beside.size());
    issued.size = awaited.size = rests.size = replayed.size = sizeof(baleen_event_t);
    poison.assign(executable.poison_bytes, static_cast<char>(0xff));
  }

  const Executable executable;
  Device* device;
  Sequences sequences;
  const std::optional<BlockLaunches> block_launches;
  std::unique_ptr<Stamps> stamps;  ///< one before each turn of a segment, and one behind the last
  bool has_stamps = false;         ///< `stamps` has been asked for
  std::vector<void*> addresses;    ///< as the executable's `sources`, once bound
  std::vector<ProgramCall> calls;
  std::vector<ProgramTransfer> transfers;
  std::vector<ProgramBeside> beside;
  HostCores* cores = nullptr;      ///< once bound, where there are launches beside the device
  OffloadStores* store = nullptr;  ///< once bound, where there are transfers
  Communicator* communicator = nullptr;
  std::string name;            ///< once connected
  Lease native;                ///< on streams of the device for the transport, where it has work there
  Staging* staging = nullptr;  ///< of staged calls; null: there are none
  baleen_event_t issued{};     ///< what the stream has done, for calls that begin after it
  std::uint64_t issues = 0;
  baleen_event_t awaited{};  ///< the waits for sends and receives that the stream has come to
  std::uint64_t awaits = 0;
  std::uint64_t runs = 0;  ///< that have begun, where it communicates
  /// Replays with collectives: the transport's streams are free for one, one has come to a good end.
  baleen_event_t rests{}, replayed{};
  std::uint64_t replays = 0;
  std::vector<char> poison;  ///< as many NaN bytes as the largest buffer has
  void* persistent_base = nullptr;
  void* work_base = nullptr;
};

}  // namespace baleen
