/// \file Which slots a launch uses, and their digests.
#include "frontend/engine/slot_check.hpp"

#include <algorithm>
#include <functional>
#include <optional>

#include "baleen/dtype.hpp"
#include "core/runtime/session.hpp"

namespace baleen::app {

void SlotCheck::attach(const Session& session) {
  session_ = &session;
  slots_.clear();
  blocks_.attach(session);
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
  std::vector<BlockWatch::Use>& in_blocks = blocks_.uses();
  in_blocks.clear();
  as_wholes_.clear();
  for (std::uint32_t tensor = 0; tensor < launch.tensors.size(); ++tensor) {
    BlockDigests* const slot = holder_of(launch.tensors[tensor]);
    if (!slot) continue;
    const auto blocks = launch.blocks ? launch.blocks->of(launch.kernel, tensor) : std::nullopt;
    const auto from = static_cast<std::uint64_t>(static_cast<const std::byte*>(launch.tensors[tensor]) - slot->memory);
    if (!blocks || blocks->each != BlockDigests::kBlock || from % slot->block() != 0)
      as_wholes_.push_back(slot);
    else if (std::ranges::count(in_blocks, slot, &BlockWatch::Use::tensor) == 0)
      in_blocks.push_back({slot, from});
  }
  for (const BlockDigests* slot : as_wholes_)
    if (const auto from = slot->changed_block()) return slot->damage(*from, in_step(*session_));
  return {};
}

Status SlotCheck::after(const Launch&) {
  BALEEN_TRY(blocks_.take_damage());
  for (BlockDigests* slot : as_wholes_) slot->renew();
  return {};
}

}  // namespace baleen::app
