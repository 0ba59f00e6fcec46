/// \file Waiting for NCCL, which works without blocking its caller.
#include "engine.hpp"

#include <sched.h>
#include <unistd.h>

#include <chrono>

namespace baleen::nccl {

Status Engine::settle(Comm comm, const char* call, Code code, double limit) const {
  constexpr int kSpins = 2000;
  const auto begin = std::chrono::steady_clock::now();
  for (int spin = 0; code == kInProgress; ++spin) {
    if (failure) return failure.status();
    Code asynchronous = kSuccess;
    if (const Code asked = nccl.ncclCommGetAsyncError(comm, &asynchronous); asked != kSuccess)
      return Error{BALEEN_PEER_LOST, failure_text(nccl, "ncclCommGetAsyncError", asked, comm), {}};
    code = asynchronous;
    if (code != kInProgress) break;
    if (std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() > limit)
      return Error{BALEEN_TIMEOUT,
                   std::string("") + call + " has not come to its end within " +
                       std::to_string(static_cast<int>(limit)) + " s (`timeout`); a peer may not have come",
                   {}};
    if (spin < kSpins)
      sched_yield();
    else
      usleep(100);
  }
  if (code == kSuccess) return {};
  return Error{BALEEN_PEER_LOST, failure_text(nccl, call, code, comm), {}};
}

bool wait_for(baleen_event_t& event, std::uint64_t value, baleen_event_t& stop) {
  while (true) {
    for (int spin = 0; spin < 100; ++spin) {
      if (event_value(event) >= value) return event_value(event) != BALEEN_EVENT_FAILED;
      if (event_value(stop) > 0) return false;
      event_pause();
    }
    const std::uint64_t word = event_prepare_sleep(event), other = event_prepare_sleep(stop);
    if (word >> 1 >= value || other >> 1 > 0) continue;
    event_sleep(event, word, stop, other, nullptr);
  }
}

}  // namespace baleen::nccl
