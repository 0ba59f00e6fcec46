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
constexpr const char* kRemedy =
    ". Memory has lost a bit, or something writes where it should not; go on from the last checkpoint, without that "
    "machine";
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
  not_seed_ = ~session.seed();
  not_steps_ = ~static_cast<std::uint64_t>(session.steps_done());
  steps_are_right_ = true;
  guarded_.clear();
  segments_.clear();
  for (const PersistentBuffer& buffer : session.persistent().buffers) {
    const std::byte* const memory = buffer.bytes > 0 ? session.own_memory(buffer) : nullptr;
    if (memory) guarded_.push_back({&buffer, memory, {}, false});
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

MemoryCheck::Touches MemoryCheck::touches_of(const Executable& executable, const Segment& segment) const {
  Touches touches;
  touches.before.resize(segment.instructions.size());
  touches.after.resize(segment.instructions.size());
  touches.is_update = segment.name == kUpdate && !segment.instructions.empty();
  if (touches.is_update) {
    add_update(executable, segment, touches);
  } else {
    each_touch(executable, segment, [&](std::size_t number, std::size_t i) {
      if (!guarded_[number].is_parameter()) touches.before[i].push_back(number);
    });
  }
  touches.any = std::ranges::any_of(touches.before, [](const auto& list) { return !list.empty(); });
  return touches;
}

void MemoryCheck::add_update(const Executable& executable, const Segment& update, Touches& touches) const {
  constexpr std::size_t kNever = SIZE_MAX;
  std::vector<std::size_t> first(guarded_.size(), kNever), last(guarded_.size(), 0);
  std::size_t end = 0;  // of the instructions that run: no update has a second turn
  const auto runs = [&](std::size_t i) { return update.instructions[i].guard != Guard::not_first; };
  for (std::size_t i = 0; i < update.instructions.size(); ++i)
    if (runs(i)) end = i;
  each_touch(executable, update, [&](std::size_t number, std::size_t i) {
    if (!runs(i)) return;
    first[number] = std::min(first[number], i);
    last[number] = i;
  });
  for (const Segment& segment : executable.segments)
    if (segment.name != kUpdate)
      each_touch(executable, segment, [&](std::size_t number, std::size_t) {
        if (guarded_[number].is_parameter()) return;
        first[number] = std::min(first[number], end);
        last[number] = end;
      });
  for (std::size_t number = 0; number < guarded_.size(); ++number) {
    if (first[number] != kNever) {
      touches.before[first[number]].push_back(number);
      touches.after[last[number]].push_back(number);
    } else if (guarded_[number].is_parameter()) {
      touches.before[0].push_back(number);
    }
  }
}

bool MemoryCheck::sees(const Executable& executable, std::size_t number) {
  if (guarded_.empty()) return false;
  const Segment& segment = executable.segments[number];
  const auto steps = static_cast<std::uint64_t>(session_->steps_done());
  steps_are_right_ = steps_are_right_ && (steps == ~not_steps_ || steps == ~not_steps_ + 1);
  not_steps_ = ~steps;
  auto found = segments_.find(&segment);
  if (found == segments_.end()) found = segments_.emplace(&segment, touches_of(executable, segment)).first;
  if (!found->second.any) return false;
  touches_ = &found->second;
  instructions_ = segment.instructions.data();
  return true;
}

Status MemoryCheck::before(const Instruction& instruction) {
  if (touches_->is_update && &instruction == instructions_) BALEEN_TRY(compare_random_state());
  for (const std::size_t number : touches_->before[static_cast<std::size_t>(&instruction - instructions_)]) {
    Guarded& guarded = guarded_[number];
    if (guarded.is_known) BALEEN_TRY(compare(guarded));
    guarded.is_known = guarded.is_parameter();
  }
  return {};
}

void MemoryCheck::after(const Instruction& instruction) {
  for (const std::size_t number : touches_->after[static_cast<std::size_t>(&instruction - instructions_)])
    digest(guarded_[number]);
}

void MemoryCheck::wrote(const PersistentBuffer& buffer) {
  const Guarded* const holder = holder_of(buffer.offset);
  if (holder && holder->buffer == &buffer) digest(guarded_[static_cast<std::size_t>(holder - guarded_.data())]);
}

void MemoryCheck::digest(Guarded& guarded) {
  guarded.digests.clear();
  for (std::uint64_t from = 0; from < guarded.buffer->bytes; from += kBlock)
    guarded.digests.push_back(digest_of(guarded.memory, guarded.buffer->bytes, from));
  guarded.is_known = true;
}

Status MemoryCheck::compare_random_state() const {
  if (session_->seed() == ~not_seed_ && steps_are_right_) return {};
  return Error{BALEEN_DAMAGED,
               "the " + std::string(steps_are_right_ ? "seed" : "number of steps") +
                   " of the job is no longer what it was, found in step " + std::to_string(session_->steps_done() + 1) +
                   kRemedy,
               {}};
}

Status MemoryCheck::compare(const Guarded& guarded) const {
  const std::uint64_t bytes = guarded.buffer->bytes;
  std::size_t block = 0;
  for (std::uint64_t from = 0; from < bytes; from += kBlock, ++block) {
    if (digest_of(guarded.memory, bytes, from) == guarded.digests[block]) continue;
    return Error{BALEEN_DAMAGED,
                 "`" + guarded.buffer->spec.name + "` is no longer what the last update wrote, found in step " +
                     std::to_string(session_->steps_done() + 1) + " in bytes " + std::to_string(from) + " to " +
                     std::to_string(std::min(from + kBlock, bytes) - 1) + " of this rank's piece" + kRemedy,
                 {}};
  }
  return {};
}

}  // namespace baleen::app
