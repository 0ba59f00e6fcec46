/// \file Memory of the device: NCCL's own, and what communicators are told of it.
#include <algorithm>
#include <chrono>
#include <thread>

#include "transport.hpp"

namespace baleen::nccl {

KnownMemory* NcclTransport::known_to(Comm comm) {
  const auto found = std::ranges::find(comms_, comm, &KnownMemory::comm);
  return found == comms_.end() ? nullptr : &*found;
}

void NcclTransport::tell_once(bool& told, baleen_level_t level, const std::string& text) const {
  if (!std::exchange(told, true)) host_.log(level, text);
}

void NcclTransport::register_with(KnownMemory& known) {
  if (!options_.registers || !engine_.nccl.can_register()) return;
  for (const auto& [base, arena] : arenas_)
    if (Status added = known.add(base, arena.bytes); !added)
      tell_once(told_of_registration_, BALEEN_INFO,
                "NCCL does not register the device's arenas, and copies instead: " + added.error().message);
}

Status NcclTransport::register_arena(void* base, std::uint64_t bytes) {
  BALEEN_TRY(check());
  const std::lock_guard lock(engine_.calls);
  if (!engine_.driver.is_device_memory(base)) return {};  // the host's: a thread copies
  arenas_.emplace(static_cast<std::byte*>(base), Arena{bytes, false});
  for (KnownMemory& known : comms_) register_with(known);
  return {};
}

void NcclTransport::unregister_arena(void* base) {
  const std::lock_guard lock(engine_.calls);
  arenas_.erase(static_cast<std::byte*>(base));
  for (KnownMemory& known : comms_) known.remove(static_cast<std::byte*>(base));
}

Result<void*> NcclTransport::allocate_on_device(std::uint64_t bytes) {
  BALEEN_TRY(check());
  const std::lock_guard lock(engine_.calls);
  if (!engine_.device) return internal("memory is asked for before there is a device");
  if (!options_.wants_memory(engine_.nccl)) return unsupported("collectives work in the device's arenas");
  BALEEN_TRY(setup_->enter());
  void* base = nullptr;
  const Code code = engine_.nccl.ncclMemAlloc(&base, bytes);
  if (code != kSuccess || !base) {
    const std::string why = std::to_string(bytes) + " bytes of NCCL's memory are not there: " +
                            failure_text(engine_.nccl, "ncclMemAlloc", code, nullptr);
    if (options_.memory == "nccl") return Error{BALEEN_NO_MEMORY, why + "; `memory = \"device\"` does without", {}};
    tell_once(told_of_memory_, BALEEN_DEBUG, why + "; the device's arenas are used instead");
    return unsupported(why);
  }
  arenas_.emplace(static_cast<std::byte*>(base), Arena{bytes, true});
  if (Status cleared = setup_->clear(base, bytes); !cleared) {
    free_memory(static_cast<std::byte*>(base));
    return std::move(cleared).error();
  }
  for (KnownMemory& known : comms_) register_with(known);
  return base;
}

// With `calls`.
void NcclTransport::free_memory(std::byte* base) {
  arenas_.erase(base);
  for (KnownMemory& known : comms_) known.remove(base);
  if (setup_) static_cast<void>(setup_->enter());
  if (const Code code = engine_.nccl.ncclMemFree(base); code != kSuccess)
    host_.log(BALEEN_WARNING, failure_text(engine_.nccl, "ncclMemFree", code, nullptr));
}

// After a failure, communicators are aborted before their memory goes.
void NcclTransport::release_on_device(void* base) {
  if (engine_.failure) event_wait(torn_down_, 1);
  const std::lock_guard lock(engine_.calls);
  free_memory(static_cast<std::byte*>(base));
}

// With `calls`.
void NcclTransport::free_all_memory() {
  const Arenas all = arenas_;
  for (const auto& [base, arena] : all)
    if (arena.of_nccl) free_memory(base);
}

bool NcclTransport::is_on_device(const void* at, std::uint64_t bytes) const {
  return arena_of(arenas_, at, bytes) != arenas_.end();
}

std::string NcclTransport::layout_of(const Group& group, const sdk::Proposal& mine) {
  if (!mine.collective) return {};
  const std::lock_guard lock(engine_.calls);
  if (const KnownMemory* const known = known_to(group.comm)) return known->layout(*mine.collective, arenas_);
  return KnownMemory(engine_, nullptr, options_.wants_windows(engine_.nccl)).layout(*mine.collective, arenas_);
}

// A window that goes must not be in use.
Status NcclTransport::await_rest() const {
  const auto begin = std::chrono::steady_clock::now();
  while (unfinished() > 0) {
    BALEEN_TRY(engine_.failure.status());
    if (std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() > engine_.seconds)
      return Error{
          BALEEN_TIMEOUT, "a collective that lies otherwise on other ranks is prepared while others are under way", {}};
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return {};
}

Status NcclTransport::share_windows(const Group& group, const Collective& c, bool alike) {
  std::unique_lock lock(engine_.calls);
  KnownMemory* known = known_to(group.comm);
  if (!known) return check();
  if (!alike && known->has_windows()) {
    lock.unlock();
    BALEEN_TRY(await_rest());
    lock.lock();
    known = known_to(group.comm);
    if (!known) return check();
  }
  if (!alike) {
    known->refuse_windows();
    return {};
  }
  BALEEN_TRY(setup_->enter());
  if (Status made = known->make_windows(c, arenas_); !made) {
    fail({made.error().code,
          "rank " + std::to_string(switchboard_->rank()) + ": " + made.error().text() +
              "; leave out `windows` in [transport]",
          {}},
         true);
    return check();
  }
  if (!known->takes_windows()) tell_once(told_of_windows_, BALEEN_DEBUG, "NCCL makes no windows between these devices");
  return {};
}

}  // namespace baleen::nccl
