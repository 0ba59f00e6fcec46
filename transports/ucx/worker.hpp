/// \file The thread that talks: it runs a rank's operations in their order and keeps messages moving.
#pragma once
#include <array>
#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "baleen/event.hpp"
#include "baleen/failure.hpp"
#include "baleen/started.hpp"
#include "device_in_use.hpp"
#include "group.hpp"
#include "peers.hpp"
#include "runner.hpp"
#include "sockets.hpp"
#include "watcher.hpp"

namespace baleen::ucx {

using namespace sdk;

/// The monotonic clock.
std::int64_t nanoseconds();

/// A started slot.
struct Operation : StartedEvents {
  Slot* slot = nullptr;
};

/// `start` comes from one thread at a time. Collectives run one after the other, in the order of their starts; a SEND
/// or RECEIVE whose turn came is parked until its peer has come, and later operations go on. A brief operation that
/// need not wait for another is run by its caller, while the thread sleeps: the turn to use UCX is a lock.
class Worker {
 public:
  /// `failed` is called after a first failure, on any thread. `spins`: there is a core for each rank of this host.
  Worker(const Host& host, Wire& wire, Peers& peers, FirstFailure& failure, std::function<void()> failed,
         bool integrity, bool spins);
  /// Fails what is unfinished.
  ~Worker();

  Status start(const Operation& operation);
  /// The turn to use UCX, for what is not about messages. [plan time]
  std::unique_lock<std::mutex> hold() { return std::unique_lock(turn_); }
  /// The device whose memory messages lie in. Needs the turn.
  DeviceInUse& device() { return device_; }
  /// A letter to a rank. [any thread]
  void post(std::int32_t rank, std::string letter);
  /// Returns when nothing is unfinished; what is, fails first.
  void settle();
  /// Everything unfinished fails. [any thread]
  void fail(Error error);

 private:
  // To wait awake for as long as a hand-over to the thread and back takes is never much worse than either choice. Where
  // peers were later than that, they will be so again.
  static constexpr std::int64_t kHandOver = 300'000, kShortly = 60'000;

  struct Parked {
    Operation operation;
    bool begun = false;
  };

  void record(Error error);
  void work();
  bool turn();
  bool send_letters();
  bool advance_current();
  bool advance_parked();
  bool step(Run& run);
  void enter_device();
  bool has_news() const;
  void finish(const Operation& operation) { unfinished_.finish(operation, static_cast<bool>(failure_)); }
  void drain();
  void quiesce();
  std::vector<Run*> active_runs() const;
  void ring();
  void sleep(std::unique_lock<std::mutex>& turn);
  void sleep_on_event(std::unique_lock<std::mutex>& turn);
  int milliseconds_to_look() const;
  void look_at_sockets();
  bool callers_are_busy() const;
  void sleep_beside_callers(std::unique_lock<std::mutex>& turn);
  bool run_now(const Operation& operation);
  void hand_over(const Operation& operation);

  const Host host_;
  Wire& wire_;
  Peers& peers_;
  FirstFailure& failure_;
  const std::function<void()> failed_;
  const bool spins_;
  Runner runner_;

  std::array<Operation, BALEEN_MAX_OUTSTANDING> queue_;
  std::atomic<std::uint64_t> head_{0}, tail_{0};
  Unfinished unfinished_;
  std::mutex turn_;  // who uses UCX, and what follows
  DeviceInUse device_;
  std::uint64_t device_seen_ = 0;        // the change of it that the thread has entered
  std::atomic<std::uint64_t> calls_{0};  // begun or ended by callers: odd while one runs an operation
  std::uint64_t calls_seen_ = 0;         // by the thread
  std::int64_t handed_over_ = 0;         // when one gave up waiting for the others; 0: none has since
  std::int64_t patience_;                // of callers, in nanoseconds
  Operation current_;                    // a collective, or one whose event has not come
  std::vector<Parked> parked_;
  Sockets sockets_;
  std::int64_t next_look_ = 0;  // at the sockets, in nanoseconds

  std::mutex letters_mutex_;
  std::vector<std::pair<std::int32_t, std::string>> letters_;
  std::atomic<bool> has_letters_{false};

  baleen_event_t bell_{};
  std::atomic<bool> polls_{false};  // asleep on the wire's file
  std::atomic<bool> leaving_{false};
  Watcher watcher_;
  std::thread thread_;
};

}  // namespace baleen::ucx
