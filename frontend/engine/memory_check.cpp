/// \file Which instructions touch which tensors, and digests of blocks.
#include "frontend/engine/memory_check.hpp"

#include <xxhash.h>
#ifdef BALEEN_XXHASH_DISPATCHES
#include <xxh_x86dispatch.h>
#endif

#include <algorithm>
#include <string>

namespace baleen::app {
namespace {

constexpr const char* kUpdate = "update";
constexpr std::uint64_t kBlock = 64 << 10;  ///< bytes; how exactly damage is placed

std::uint64_t digest_of(const std::byte* memory, std::uint64_t bytes, std::uint64_t from) {
  return XXH3_64bits(memory + from, std::min(kBlock, bytes - from));
}

/// Numbers of the addresses that an instruction reads or writes, in the program's table.
std::vector<std::uint32_t> addresses_of(const Executable& executable, const Instruction& instruction) {
  std::vector<std::uint32_t> all;
  using Kind = Instruction::Kind;
  if (instruction.kind == Kind::begin || instruction.kind == Kind::wait) {
    for (const auto& entry : executable.calls[instruction.call].entries)
      all.insert(all.end(), {entry.input, entry.output});
  } else if (instruction.kind == Kind::transfer || instruction.kind == Kind::settle) {
    all.push_back(executable.transfers[instruction.call].address);
  } else {
    const std::uint32_t count = std::max<std::uint32_t>(instruction.address_count, 1);
    for (std::uint32_t i = 0; i < count; ++i) all.push_back(instruction.first_address + i);
  }
  return all;
}

}  // namespace

void MemoryCheck::attach(const Session& session) {
  session_ = &session;
  guarded_.clear();
  for (const PersistentBuffer& buffer : session.persistent().buffers) {
    const bool is_updated = buffer.spec.category == "parameters" || buffer.spec.category == "optimizer";
    const std::byte* const memory = is_updated && buffer.bytes > 0 ? session.own_memory(buffer) : nullptr;
    if (memory) guarded_.push_back({&buffer, memory, {}});
  }
  std::ranges::sort(guarded_, {}, [](const Guarded& one) { return one.buffer->offset; });
  for (Guarded& one : guarded_) digest(one);
}

const MemoryCheck::Guarded* MemoryCheck::holder_of(std::uint64_t offset) const {
  const auto after =
      std::ranges::upper_bound(guarded_, offset, {}, [](const Guarded& one) { return one.buffer->offset; });
  if (after == guarded_.begin()) return nullptr;
  const Guarded& before = *(after - 1);
  return offset < before.buffer->offset + before.buffer->bytes ? &before : nullptr;
}

template <class Visit>
void MemoryCheck::each_touch(const Executable& executable, const Segment& segment, const Visit& visit) const {
  for (std::size_t i = 0; i < segment.instructions.size(); ++i)
    for (const std::uint32_t address : addresses_of(executable, segment.instructions[i])) {
      const AddressSource& source = executable.sources[address];
      const Guarded* const holder =
          source.arena == AddressSource::Arena::persistent ? holder_of(source.offset) : nullptr;
      if (holder) visit(static_cast<std::size_t>(holder - guarded_.data()), i);
    }
}

MemoryCheck::Touches MemoryCheck::touches_of(const Executable& executable, const Segment& update) const {
  constexpr std::size_t kNever = SIZE_MAX;
  std::vector<std::size_t> first(guarded_.size(), kNever), last(guarded_.size(), 0);
  std::vector<bool> is_used_before(guarded_.size(), false);
  for (const Segment& segment : executable.segments)
    if (segment.name != kUpdate)
      each_touch(executable, segment, [&](std::size_t number, std::size_t) { is_used_before[number] = true; });
  each_touch(executable, update, [&](std::size_t number, std::size_t i) {
    if (update.instructions[i].guard == Guard::not_first) return;  // no update has a second turn
    first[number] = std::min(first[number], i);
    last[number] = i;
  });
  Touches touches;
  touches.first.resize(update.instructions.size());
  touches.last.resize(update.instructions.size());
  for (std::size_t number = 0; number < guarded_.size(); ++number) {
    const bool is_touched = first[number] != kNever;
    // Whatever else uses a state may write it, as a strategy that keeps what it has not sent yet; parameters are read.
    const bool is_state = guarded_[number].buffer->spec.role != Role::parameter;
    if (is_state && (is_used_before[number] || !is_touched)) continue;
    touches.first[is_touched ? first[number] : 0].push_back(number);
    if (is_touched) touches.last[last[number]].push_back(number);
  }
  return touches;
}

bool MemoryCheck::sees(const Executable& executable, std::size_t number) {
  const Segment& segment = executable.segments[number];
  if (guarded_.empty() || segment.name != kUpdate || segment.instructions.empty()) return false;
  auto found = segments_.find(&segment);
  if (found == segments_.end()) found = segments_.emplace(&segment, touches_of(executable, segment)).first;
  touches_ = &found->second;
  instructions_ = segment.instructions.data();
  return true;
}

Status MemoryCheck::before(const Instruction& instruction) {
  for (const std::size_t number : touches_->first[static_cast<std::size_t>(&instruction - instructions_)])
    BALEEN_TRY(compare(guarded_[number]));
  return {};
}

void MemoryCheck::after(const Instruction& instruction) {
  for (const std::size_t number : touches_->last[static_cast<std::size_t>(&instruction - instructions_)])
    digest(guarded_[number]);
}

void MemoryCheck::digest(Guarded& guarded) {
  guarded.digests.clear();
  for (std::uint64_t from = 0; from < guarded.buffer->bytes; from += kBlock)
    guarded.digests.push_back(digest_of(guarded.memory, guarded.buffer->bytes, from));
}

Status MemoryCheck::compare(const Guarded& guarded) const {
  const std::uint64_t bytes = guarded.buffer->bytes;
  std::size_t block = 0;
  for (std::uint64_t from = 0; from < bytes; from += kBlock, ++block) {
    if (digest_of(guarded.memory, bytes, from) == guarded.digests[block]) continue;
    return Error{
        BALEEN_DAMAGED,
        "`" + guarded.buffer->spec.name + "` is no longer what the last update wrote, found in step " +
            std::to_string(session_->steps_done() + 1) + " in bytes " + std::to_string(from) + " to " +
            std::to_string(std::min(from + kBlock, bytes) - 1) +
            " of this rank's piece. Memory has lost a bit, or something writes where it should not; go on from "
            "the last checkpoint, without that machine",
        {}};
  }
  return {};
}

}  // namespace baleen::app
