/// \file Which instructions touch which tensors, and digests of blocks.
#include "frontend/engine/memory_check.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "baleen/dtype.hpp"
#include "core/runtime/count.hpp"

namespace baleen::app {
namespace {

constexpr const char* kUpdate = "update";
/// Memory that an instruction uses.
struct Use {
  AddressSource source;
  bool is_written;
  bool is_begun = false;  ///< a call or transfer that is not over yet
};

AddressSource slot_of(const ExecutableTransfer& transfer) {
  AddressSource source{AddressSource::Arena::slot, transfer.offset};
  source.slot = transfer.slot;
  return source;
}

std::vector<Use> uses_of(const Executable& executable, const Instruction& instruction) {
  std::vector<Use> all;
  using Kind = Instruction::Kind;
  if (instruction.kind == Kind::begin || instruction.kind == Kind::wait) {
    for (const auto& entry : executable.calls[instruction.call].entries) {
      all.push_back({executable.sources[entry.input], false});
      all.push_back({executable.sources[entry.output], true, instruction.kind == Kind::begin});
    }
  } else if (instruction.kind == Kind::transfer || instruction.kind == Kind::settle) {
    const ExecutableTransfer& transfer = executable.transfers[instruction.call];
    const bool is_begun = instruction.kind == Kind::transfer;
    all.push_back({executable.sources[transfer.address], !transfer.is_put, is_begun});
    if (!transfer.is_copy()) all.push_back({slot_of(transfer), transfer.is_put, is_begun});
  } else if (instruction.kind != Kind::join) {
    const std::uint32_t count = std::max<std::uint32_t>(instruction.address_count, 1);
    for (std::uint32_t i = instruction.first_address; i < instruction.first_address + count; ++i)
      all.push_back({executable.sources[i], executable.sources[i].is_written});
  }
  return all;
}

}  // namespace

void MemoryCheck::attach(const Session& session) {
  session_ = &session;
  not_seed_ = ~session.seed();
  blocks_.attach(session);
  guarded_.clear();
  segments_.clear();
  for (const PersistentBuffer& buffer : session.persistent().buffers) {
    const std::byte* const memory = buffer.bytes > 0 ? session.own_memory(buffer) : nullptr;
    if (memory) guarded_.push_back({&buffer, memory, dtype_size(buffer.spec.type.dtype)});
  }
  const auto slots = std::ranges::partition(guarded_, [](const Guarded& one) { return !one.buffer->is_offloaded(); });
  in_arena_ = static_cast<std::size_t>(slots.begin() - guarded_.begin());
  std::sort(guarded_.begin(), slots.begin(), [](const Guarded& a, const Guarded& b) { return a.first() < b.first(); });
  std::ranges::sort(slots, {}, [](const Guarded& one) { return one.buffer->slot; });
  for (Guarded& one : guarded_) one.renew();
  beside_.attach(session);
}

const MemoryCheck::Guarded* MemoryCheck::holder_of(const AddressSource& source) const {
  const std::span all(guarded_);
  if (source.arena == AddressSource::Arena::slot) {
    const auto slots = all.subspan(in_arena_);
    const auto found =
        std::ranges::lower_bound(slots, source.slot, {}, [](const Guarded& one) { return one.buffer->slot; });
    return found != slots.end() && found->buffer->slot == source.slot ? &*found : nullptr;
  }
  if (source.arena != AddressSource::Arena::persistent) return nullptr;
  const auto own = all.first(in_arena_);
  const auto after = std::ranges::upper_bound(own, source.offset, {}, &Guarded::first);
  if (after == own.begin()) return nullptr;
  const Guarded& before = *(after - 1);
  return source.offset < before.first() + before.buffer->bytes ? &before : nullptr;
}

const MemoryCheck::Guarded* MemoryCheck::holder_of(const PersistentBuffer& buffer) const {
  const auto found = std::ranges::find(guarded_, &buffer, &Guarded::buffer);
  return found == guarded_.end() ? nullptr : &*found;
}

template <class Visit>
void MemoryCheck::each_touch(const Executable& executable, const Segment& segment, const Visit& visit) const {
  for (std::size_t i = 0; i < segment.instructions.size(); ++i)
    for (const Use& use : uses_of(executable, segment.instructions[i])) {
      const Guarded* const holder = holder_of(use.source);
      if (holder) visit(static_cast<std::size_t>(holder - guarded_.data()), i, use);
    }
}

MemoryCheck::Touches MemoryCheck::touches_of(const Executable& executable, const Segment& segment,
                                             const BlockLaunches* launches) const {
  Touches touches;
  touches.compared.resize(segment.instructions.size());
  touches.changing.resize(segment.instructions.size());
  touches.written.resize(segment.instructions.size());
  touches.blocks.resize(segment.instructions.size());
  touches.is_update = segment.name == kUpdate && !segment.instructions.empty();
  if (touches.is_update)
    add_update(executable, segment, touches);
  else
    add_pass(executable, segment, touches);
  const auto any = [](const auto& lists) {
    return std::ranges::any_of(lists, [](const auto& list) { return !list.empty(); });
  };
  touches.any = any(touches.compared) || any(touches.written);
  if (launches) move_to_blocks(executable, segment, *launches, touches);
  return touches;
}

void MemoryCheck::move_to_blocks(const Executable& executable, const Segment& segment, const BlockLaunches& launches,
                                 Touches& touches) const {
  move_pieces(executable, segment, launches, touches);
  for (std::size_t i = 0; i < segment.instructions.size(); ++i) {
    if (segment.instructions[i].kind != Instruction::Kind::launch) continue;
    std::set<std::size_t> numbers = touches.compared[i];
    numbers.insert(touches.written[i].begin(), touches.written[i].end());
    for (const std::size_t number : numbers) {
      const auto stretch = stretch_in_blocks(executable, segment.instructions[i], launches, number);
      if (stretch != Stretch(0, guarded_[number].buffer->bytes)) continue;
      const bool compared = touches.compared[i].erase(number) > 0, changed = touches.changing[i].erase(number) > 0;
      touches.blocks[i].push_back({number, compared, changed, touches.written[i].erase(number) > 0});
    }
  }
}

void MemoryCheck::move_pieces(const Executable& executable, const Segment& segment, const BlockLaunches& launches,
                              Touches& touches) const {
  std::vector<std::vector<std::pair<std::size_t, bool>>> uses(guarded_.size());  // instructions; is it written there?
  each_touch(executable, segment, [&](std::size_t number, std::size_t i, const Use& use) {
    if (!uses[number].empty() && uses[number].back().first == i)
      uses[number].back().second |= use.is_written;
    else
      uses[number].emplace_back(i, use.is_written);
  });
  for (std::size_t number = 0; number < guarded_.size(); ++number) {
    std::vector<std::pair<std::size_t, bool>>& all = uses[number];
    const bool is_written = std::ranges::any_of(all, [](const auto& use) { return use.second; });
    // Where it is changed all that changes it, else what reads it first.
    const bool read_first = !all.empty() && !all.front().second && touches.compared[all.front().first].contains(number);
    if (!is_written && !read_first) continue;
    if (!read_first) std::erase_if(all, [](const auto& use) { return !use.second; });
    std::vector<std::size_t> pieces;
    std::uint64_t end = 0;
    for (const auto& [i, written] : all) {
      if (read_first && (written || end == guarded_[number].buffer->bytes)) break;
      const Instruction& instruction = segment.instructions[i];
      const auto stretch = instruction.kind == Instruction::Kind::launch
                               ? stretch_in_blocks(executable, instruction, launches, number)
                               : std::nullopt;
      if (!stretch || stretch->first != end) break;
      end = stretch->second;
      pieces.push_back(i);
    }
    if (pieces.size() < 2 || end != guarded_[number].buffer->bytes || (!read_first && pieces.size() != all.size()))
      continue;
    const bool was_compared = touches.compared[pieces.front()].erase(number) > 0;
    touches.changing[pieces.front()].erase(number);
    touches.written[pieces.back()].erase(number);
    for (const std::size_t i : pieces) {
      const std::uint64_t from = stretch_in_blocks(executable, segment.instructions[i], launches, number)->first;
      touches.blocks[i].push_back({number, was_compared, false, !read_first, from, i == pieces.back()});
    }
  }
}

std::optional<MemoryCheck::Stretch> MemoryCheck::stretch_in_blocks(const Executable& executable,
                                                                   const Instruction& instruction,
                                                                   const BlockLaunches& launches,
                                                                   std::size_t number) const {
  const Guarded& guarded = guarded_[number];
  std::optional<Stretch> found;
  for (std::uint32_t tensor = 0; tensor + 1 < instruction.address_count; ++tensor) {
    const AddressSource& source = executable.sources[instruction.first_address + tensor];
    if (holder_of(source) != &guarded) continue;
    const auto blocks = launches.of(executable.kernels[instruction.kernel].get(), tensor);
    if (!blocks || blocks->each != BlockDigests::kBlock) return std::nullopt;
    const std::uint64_t from = source.offset - guarded.first();
    const Stretch stretch(from, from + blocks->elements * guarded.element);
    if (from % guarded.block() != 0 || (found && *found != stretch)) return std::nullopt;
    found = stretch;
  }
  return found;
}

std::vector<MemoryCheck::Times> MemoryCheck::times_in(const Executable& executable, const Segment& segment) const {
  std::vector<Times> times(guarded_.size());
  each_touch(executable, segment, [&](std::size_t number, std::size_t i, const Use& use) {
    // Of an update: there is no second turn.
    if (segment.name == kUpdate && segment.instructions[i].guard == Guard::not_first) return;
    Times& own = times[number];
    own.touched = std::min(own.touched, i);
    if (!use.is_written) return;
    own.changed = std::min(own.changed, i);
    if (!use.is_begun) own.written = i;
  });
  return times;
}

void MemoryCheck::add_change(std::size_t number, const Times& own, Touches& touches) {
  if (own.changed == kNever) return;
  touches.compared[own.changed].insert(number);
  touches.changing[own.changed].insert(number);
  if (own.written != kNever) touches.written[own.written].insert(number);
}

void MemoryCheck::add_pass(const Executable& executable, const Segment& pass, Touches& touches) const {
  const std::vector<Times> times = times_in(executable, pass);
  for (std::size_t number = 0; number < guarded_.size(); ++number) {
    const Times& own = times[number];
    if (own.touched != kNever && !guarded_[number].is_parameter()) touches.compared[own.touched].insert(number);
    add_change(number, own, touches);
  }
}

void MemoryCheck::add_update(const Executable& executable, const Segment& update, Touches& touches) const {
  std::set<std::size_t> changed_before;
  for (const Segment& segment : executable.segments) {
    if (&segment == &update) break;
    each_touch(executable, segment, [&](std::size_t number, std::size_t, const Use& use) {
      if (use.is_written) changed_before.insert(number);
    });
  }
  const std::vector<Times> times = times_in(executable, update);
  for (std::size_t number = 0; number < guarded_.size(); ++number) {
    const Times& own = times[number];
    if (own.touched == kNever && changed_before.contains(number)) continue;  // and compared there
    touches.compared[own.touched == kNever ? 0 : own.touched].insert(number);
    add_change(number, own, touches);
  }
}

Status MemoryCheck::begins_step() { return session_ ? compare_counts(in_step(*session_)) : Status(); }

bool MemoryCheck::sees(const Executable& executable, std::size_t number, const BlockLaunches* launches) {
  if (guarded_.empty()) return false;
  const Segment& segment = executable.segments[number];
  auto found = segments_.find(&segment);
  if (found == segments_.end()) found = segments_.emplace(&segment, touches_of(executable, segment, launches)).first;
  if (!found->second.any) return false;
  touches_ = &found->second;
  instructions_ = segment.instructions.data();
  return true;
}

Status MemoryCheck::before(const Instruction& instruction) {
  if (touches_->is_update && &instruction == instructions_) BALEEN_TRY(compare_counts(in_step(*session_)));
  const auto i = static_cast<std::size_t>(&instruction - instructions_);
  for (const std::size_t number : touches_->compared[i])
    if (guarded_[number].is_known) BALEEN_TRY(compare(guarded_[number]));
  for (const std::size_t number : touches_->changing[i]) guarded_[number].is_known = false;
  return {};
}

const baleen_block_watch_t* MemoryCheck::blocks(const Instruction& instruction) {
  blocks_.uses().clear();
  for (const BlockTouch& touch : touches_->blocks[static_cast<std::size_t>(&instruction - instructions_)]) {
    Guarded& guarded = guarded_[touch.number];
    blocks_.uses().push_back({&guarded, touch.from, touch.is_compared && guarded.is_known, touch.is_written});
  }
  return blocks_.table();
}

Status MemoryCheck::after(const Instruction& instruction) {
  const auto i = static_cast<std::size_t>(&instruction - instructions_);
  BALEEN_TRY(blocks_.take_damage());
  for (const BlockTouch& touch : touches_->blocks[i])
    if (touch.is_changed || (touch.is_written && touch.is_last)) guarded_[touch.number].is_known = touch.is_written;
  for (const std::size_t number : touches_->written[i]) guarded_[number].renew();
  return {};
}

void MemoryCheck::wrote(const PersistentBuffer& buffer) {
  const Guarded* const holder = holder_of(buffer);
  if (holder) guarded_[static_cast<std::size_t>(holder - guarded_.data())].renew();
  beside_.wrote(buffer);
}

Status MemoryCheck::compare_counts(const std::string& when) const {
  const std::string damaged = session_->seed() == ~not_seed_ ? session_->damaged_count() : "the seed of the job";
  if (damaged.empty()) return {};
  return Error{BALEEN_DAMAGED, damaged + " is no longer what it was, found " + when + kLostBit, {}};
}

Status MemoryCheck::compare_all() const {
  if (!session_) return {};
  const std::string when = "after step " + std::to_string(session_->steps_done()) + ", before it was saved";
  BALEEN_TRY(compare_counts(when));
  for (const Guarded& guarded : guarded_)
    if (const auto from = guarded.is_known ? guarded.changed_block() : std::nullopt)
      return guarded.damage(*from, when + ",");
  return beside_.compare(when + ",");
}

Status MemoryCheck::compare(const Guarded& guarded) const {
  const auto from = guarded.changed_block();
  return from ? Status(guarded.damage(*from, in_step(*session_))) : Status();
}

}  // namespace baleen::app
