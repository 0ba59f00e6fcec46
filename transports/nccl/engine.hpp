/// \file What all parts of a rank's transport share: the libraries, the device once it is handed over, and the first
/// failure.
#pragma once
#include <atomic>
#include <functional>
#include <mutex>
#include <string>

#include "baleen/event.hpp"
#include "baleen/failure.hpp"
#include "baleen/native_events.h"
#include "library.hpp"

namespace baleen::nccl {

/// The device that collectives work on, borrowed from its plugin between `use` and `leave`.
struct Device {
  void* handle = nullptr;
  const baleen_compute_t* compute = nullptr;
  const baleen_native_events_t* events = nullptr;
  std::string identity;

  explicit operator bool() const { return handle != nullptr; }
};

struct Engine {
  Functions nccl;
  Driver driver;
  Device device;
  double seconds = 300;  ///< that NCCL may take to set up a communicator or to enqueue
  Config config;
  sdk::FirstFailure failure;
  baleen_event_t failed{sizeof(baleen_event_t), 0, 0, nullptr};  ///< raised to 1 when there is a failure
  std::mutex calls;                                              ///< NCCL is called by one thread at a time

  /// What a status of the compute plugin says, whose text only its own host knows.
  static Status checked(baleen_status_t status, const char* doing) {
    if (status == BALEEN_OK) return {};
    return Error{status, std::string("the compute plugin fails in ") + doing, {}};
  }
  /// Waits until NCCL has done what it returned `code` for; ends early where there is a failure. [with `calls`]
  Status settle(Comm comm, const char* call, Code code) const { return settle(comm, call, code, seconds); }
  Status settle(Comm comm, const char* call, Code code, double limit) const;
};

/// Waits until `event` has reached `value` or `stop` has been raised; whether it was the event.
bool wait_for(baleen_event_t& event, std::uint64_t value, baleen_event_t& stop);

}  // namespace baleen::nccl
