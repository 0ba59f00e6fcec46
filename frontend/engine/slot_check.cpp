/// \file Which slots a launch uses, and their digests.
#include "frontend/engine/slot_check.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "baleen/dtype.hpp"
#include "core/runtime/session.hpp"

namespace baleen::app {

void SlotCheck::attach(const Session& session) {
  session_ = &session;
  slots_.clear();
  damage_.reset();
  for (const PersistentBuffer& buffer : session.persistent().buffers) {
    const std::byte* const memory = buffer.bytes > 0 ? session.beside_memory(buffer) : nullptr;
    if (memory) slots_.push_back({&buffer, memory, dtype_size(buffer.spec.type.dtype)});
  }
  std::ranges::sort(slots_, std::less<>(), &BlockDigests::memory);
  for (BlockDigests& slot : slots_) slot.renew();
}

Status SlotCheck::compare(const std::string& when) const {
  for (const BlockDigests& slot : slots_)
    if (const auto from = slot.changed_block()) return slot.damage(*from, when);
  return {};
}

void SlotCheck::wrote(const PersistentBuffer& buffer) {
  for (BlockDigests& slot : slots_)
    if (slot.buffer == &buffer) slot.renew();
}

BlockDigests* SlotCheck::holder_of(const void* address) {
  const auto* const at = static_cast<const std::byte*>(address);
  const auto after = std::ranges::upper_bound(slots_, at, std::less<>(), &BlockDigests::memory);
  if (!at || after == slots_.begin()) return nullptr;
  BlockDigests& before = *(after - 1);
  return std::less<>()(at, before.memory + before.buffer->bytes) ? &before : nullptr;
}

Status SlotCheck::before(const Launch& launch) {
  in_blocks_.clear();
  as_wholes_.clear();
  for (std::uint32_t tensor = 0; tensor < launch.tensors.size(); ++tensor) {
    BlockDigests* const slot = holder_of(launch.tensors[tensor]);
    if (!slot) continue;
    const auto blocks = launch.blocks ? launch.blocks->of(launch.kernel, tensor) : std::nullopt;
    const auto from = static_cast<std::uint64_t>(static_cast<const std::byte*>(launch.tensors[tensor]) - slot->memory);
    const bool tells = blocks && blocks->each == BlockDigests::kBlock && from % slot->block() == 0;
    std::vector<Use>& uses = tells ? in_blocks_ : as_wholes_;
    if (std::ranges::count(uses, slot, &Use::slot) == 0) uses.push_back({slot, from});
  }
  for (const Use& use : as_wholes_)
    if (const auto from = use.slot->changed_block()) return use.slot->damage(*from, in_step());
  return {};
}

const baleen_block_watch_t* SlotCheck::blocks() {
  if (in_blocks_.empty()) return nullptr;
  block_watch_ = {
      sizeof block_watch_, this,
      [](void* self, std::uint64_t first, std::uint64_t) -> std::uint32_t {
        return static_cast<SlotCheck*>(self)->before_block(first) ? 0 : 1;
      },
      [](void* self, std::uint64_t first, std::uint64_t) { static_cast<SlotCheck*>(self)->after_block(first); }};
  return &block_watch_;
}

bool SlotCheck::before_block(std::uint64_t first) {
  for (const Use& use : in_blocks_) {
    const std::uint64_t from = use.from + first * use.slot->element;
    if (use.slot->is_as_before(from)) continue;
    const std::lock_guard lock(mutex_);
    if (!damage_) damage_ = use.slot->damage(from, in_step());
    return false;
  }
  return true;
}

void SlotCheck::after_block(std::uint64_t first) {
  for (const Use& use : in_blocks_) use.slot->renew(use.from + first * use.slot->element);
}

Status SlotCheck::after(const Launch&) {
  if (damage_) return *std::exchange(damage_, std::nullopt);
  for (const Use& use : as_wholes_) use.slot->renew();
  return {};
}

std::string SlotCheck::in_step() const { return "in step " + std::to_string(session_->steps_done() + 1); }

}  // namespace baleen::app
