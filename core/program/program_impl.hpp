/// \file What a compiled program consists of.
#pragma once
#include <optional>

#include "core/program/kernel_store.hpp"
#include "core/program/program.hpp"
#include "core/program/staged_call.hpp"

namespace baleen {

/// Where an address of the table comes from; resolved by `bind`.
struct AddressSource {
  enum class Arena : std::uint8_t { none, work, persistent } arena = Arena::none;
  std::uint64_t offset = 0;
};

/// A piece of a call that is staged.
struct StagedPart {
  StagedPiece piece;
  std::size_t place = 0;     ///< of a collective: in the ring
  std::uint64_t offset = 0;  ///< of a send or receive: in the memory of their own
  void* slot = nullptr;
  std::unique_ptr<baleen_event_t> done = std::make_unique<baleen_event_t>();  ///< of a send or receive
};

/// A call of the transport, prepared by `connect`.
struct ProgramCall {
  baleen_collective_t op = 0;
  baleen_reduction_t reduction = 0;
  baleen_dtype_t dtype = 0;
  std::int32_t root = 0;
  std::vector<std::string> axes;
  struct Entry {
    std::uint32_t input = 0, output = 0;  ///< in the address table
    std::uint64_t count = 0, block = 0;
    std::vector<std::uint64_t> sends, receives;
  };
  std::vector<Entry> entries;  ///< of all slots
  std::vector<std::int32_t> destinations;
  std::string where;
  std::uint64_t runs = 1;    ///< per run of the program
  std::vector<void*> slots;  ///< micro-batch m has number m % slots
  std::unique_ptr<baleen_event_t> done = std::make_unique<baleen_event_t>();
  std::uint64_t begun = 0;        ///< times; the value of `done` when the last is over
  std::vector<StagedPart> parts;  ///< instead of slots, where it is staged
};

struct ProgramImpl {
  ProgramImpl(ScheduledGraph graph, Device& on) : scheduled(std::move(graph)), device(&on), kernels(on) {}

  ScheduledGraph scheduled;
  Device* device;
  KernelStore kernels;
  std::vector<Segment> segments;
  std::vector<std::string> labels;
  std::vector<AddressSource> sources;
  std::vector<void*> addresses;  ///< as `sources`, once bound
  std::vector<Port> inputs, outputs;
  std::vector<ProgramCall> calls;
  struct Turn {
    std::uint32_t segment = 0;
    std::int64_t micro_batch = 0;
  };
  std::vector<Turn> turns;  ///< of `turned_loop`
  int turned_loop = -1;
  std::vector<std::vector<std::string>> groups;  ///< axes along which some rank talks, in one order on all ranks
  Coordinates at;
  Communicator* communicator = nullptr;
  StagingBytes staging_bytes;
  Staging* staging = nullptr;  ///< null: the transport works on the tensors themselves
  baleen_event_t issued{};     ///< what the stream has done, for calls that begin after it
  std::uint64_t issues = 0;
  MemoryReport memory;
  double flops = 0;
  std::vector<char> poison;  ///< as many NaN bytes as the largest buffer has
  void* persistent_base = nullptr;
  void* work_base = nullptr;
};

struct Lowered;
struct ProgramStep;
struct Lifetimes;

/// Lays out the work arena and writes instructions, addresses, ports and the memory report into `program`.
void assemble(ProgramImpl& program, Lowered& lowered, const std::vector<ProgramStep>& steps, const Lifetimes& lifetimes,
              const CompileOptions& options);

}  // namespace baleen
