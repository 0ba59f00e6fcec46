/// \file Told of blocks by the threads that work on them.
#include "frontend/engine/block_watch.hpp"

#include <utility>

#include "core/runtime/session.hpp"

namespace baleen::app {

std::string in_step(const Session& session) { return "in step " + std::to_string(session.steps_done() + 1); }

void BlockWatch::attach(const Session& session) {
  session_ = &session;
  damage_.reset();
}

const baleen_block_watch_t* BlockWatch::table() {
  if (uses_.empty()) return nullptr;
  table_ = {sizeof table_, this,
            [](void* self, std::uint64_t first, std::uint64_t) -> std::uint32_t {
              return static_cast<BlockWatch*>(self)->before(first) ? 0 : 1;
            },
            [](void* self, std::uint64_t first, std::uint64_t) { static_cast<BlockWatch*>(self)->after(first); }};
  return &table_;
}

bool BlockWatch::before(std::uint64_t first) {
  for (const Use& use : uses_) {
    const std::uint64_t from = use.from + first * use.tensor->element;
    if (!use.is_compared || use.tensor->is_as_before(from)) continue;
    const std::lock_guard lock(mutex_);
    if (!damage_) damage_ = use.tensor->damage(from, in_step(*session_));
    return false;
  }
  return true;
}

void BlockWatch::after(std::uint64_t first) {
  for (const Use& use : uses_)
    if (use.is_written) use.tensor->renew(use.from + first * use.tensor->element);
}

Status BlockWatch::take_damage() {
  if (!damage_) return {};
  return *std::exchange(damage_, std::nullopt);
}

}  // namespace baleen::app
