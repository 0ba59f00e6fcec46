/// \file What a program's calls of the transport are to the rank: its view of each, the bytes that it sends, the pieces
/// in which they pass through pinned memory.
#include <algorithm>

#include "compiler/codegen/compile.hpp"
#include "compiler/codegen/passes.hpp"

namespace baleen {
namespace {

/// The address that an entry of the table will have, but for the arena's: equal where it is the same.
char* stand_in(const AddressSource& source) {
  if (source.arena == AddressSource::Arena::none) return nullptr;
  return reinterpret_cast<char*>((std::uint64_t{1} << 60) * static_cast<std::uint64_t>(source.arena) + source.offset);
}

/// This rank's view of a call.
Collective view_of(const Executable& program, const ExecutableCall& call) {
  const Mesh& mesh = program.mesh;
  Collective c{
      call.with<const void*, void*>([&](std::uint32_t address) { return stand_in(program.sources[address]); })};
  for (const std::string& axis : call.axes) {
    const auto number = static_cast<std::size_t>(mesh.find(axis));
    const auto size = static_cast<std::size_t>(mesh.axes[number].size);
    c.members *= size;
    c.place = c.place * size + static_cast<std::size_t>(program.at.empty() ? 0 : program.at[number]);
  }
  return c;
}

constexpr std::uint64_t kMostPiece = 4 << 20, kLeastPiece = 4 << 10;

}  // namespace

void StagingBytes::cover(const StagingBytes& other) {
  place = std::max(place, other.place);
  own = std::max(own, other.own);
}

// Half of the bound is the ring's: what sends and receives need differs between ranks, and pieces must not.
std::uint64_t staging_piece_bytes(std::uint64_t bound) {
  if (bound == 0) return kMostPiece;
  return std::clamp(bound / 2 / StagingBytes::kPlaces, kLeastPiece, kMostPiece);
}

void stage_calls(Executable& program, const StagedCollectives& staged) {
  std::size_t place = 0;
  program.has_direct = staged.piece_bytes == 0 || staged.direct != 0;
  for (ExecutableCall& call : program.calls) {
    call.staged = staged.contains(call.op);
    if (!call.staged) continue;
    for (StagedPiece& piece : cut_call(view_of(program, call), staged.piece_bytes)) {
      StagedPart& part = call.parts.emplace_back();
      if (is_pairwise(call.op)) {
        part.offset = program.staging.own;
        program.staging.own += piece.bytes;
      } else {
        part.place = place++ % StagingBytes::kPlaces;
        program.staging.place = std::max(program.staging.place, piece.bytes);
      }
      part.piece = std::move(piece);
    }
  }
}

void stage_transfers(Executable& program) {
  constexpr std::uint64_t kAlignment = 4096;  // as disks want it
  std::vector<Interval> lives(program.transfers.size());
  std::int64_t position = 0;
  for (const Segment& segment : program.segments)  // what begins in a loop is over in the same turn
    for (const Instruction& i : segment.instructions) {
      ++position;
      if (i.kind == Instruction::Kind::transfer) lives[i.call] = {program.transfers[i.call].bytes, position, position};
      if (i.kind == Instruction::Kind::settle) lives[i.call].last = position;
    }
  const MemoryPlan plan = plan_memory(lives, kAlignment);
  for (std::size_t t = 0; t < lives.size(); ++t) program.transfers[t].staged = plan.offsets[t];
  program.transfer_staging = lives.empty() ? 0 : plan.arena_bytes;
}

std::uint64_t sent_bytes(const Executable& executable, const ExecutableCall& call) {
  return collective_bytes(view_of(executable, call));
}

void name_calls(Executable& program) {
  for (const Segment& segment : program.segments)
    for (const Instruction& i : segment.instructions) {
      if (i.kind != Instruction::Kind::begin && i.kind != Instruction::Kind::wait) continue;
      const std::uint64_t bytes = sent_bytes(program, program.calls[i.call]);
      program.labels[i.label] += " #" + std::to_string(i.call + 1) + ", " + std::to_string(bytes) + " bytes";
    }
}

}  // namespace baleen
