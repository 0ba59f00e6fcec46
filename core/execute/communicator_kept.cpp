/// \file Collectives that the device replays: what the transport does with them, and who is told.
#include "core/execute/communicator.hpp"

namespace baleen {

Status Communicator::begin_keeping() {
  BALEEN_TRY(transport_->begin_capture());
  keeping_ = std::make_unique<KeptCalls>();
  return {};
}

Result<KeptCalls*> Communicator::end_keeping() {
  std::unique_ptr<KeptCalls> made = std::move(keeping_);
  BALEEN_TRY_ASSIGN(made->capture, transport_->end_capture());
  if (begins_ && !made->slots.empty()) made->text = slots_.at(made->slots.front()).text;
  if (made->slots.size() > 1)
    made->text += ", or one of " + std::to_string(made->slots.size() - 1) + " that are replayed with it";
  KeptCalls* const kept = made.get();
  kept_.emplace(kept, std::move(made));
  return kept;
}

Result<bool> Communicator::agree_on(const std::vector<KeptCalls*>& kept) {
  std::vector<void*> captures;
  captures.reserve(kept.size());
  for (const KeptCalls* one : kept) captures.push_back(one->capture);
  return transport_->agree_on(captures);
}

// No event within a replay tells which of its collectives runs.
Status Communicator::enter(KeptCalls& kept, EventValue from, EventValue rests, EventValue done) {
  kept.was_entered = true;
  if (begins_) {
    for (std::size_t i = 0; i < kept.slots.size(); ++i) begins_(count());
    under_way_.begin({&kept.text, from.event, from.value, done.event, done.value});
  }
  return transport_->enter(kept.capture, rests.event, rests.value);
}

Status Communicator::replayed(KeptCalls& kept, EventValue after, EventValue done) {
  return transport_->replayed(kept.capture, after.event, after.value, done.event, done.value);
}

void Communicator::release(KeptCalls* kept) {
  if (kept->was_entered) forget_begun();
  transport_->release_capture(kept->capture);
  kept_.erase(kept);
}

void Communicator::before_end(const void* owner, std::function<void()> lets_go) {
  if (lets_go)
    lets_go_[owner] = std::move(lets_go);
  else
    lets_go_.erase(owner);
}

}  // namespace baleen
