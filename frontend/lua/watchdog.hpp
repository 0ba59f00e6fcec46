/// \file Watches how long a script's own code runs, also where Lua cannot look: in one call of C.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "baleen/result.hpp"

namespace baleen {

/// Counts the time of one stretch of code, on a thread of its own. Time in which the process is stopped (Ctrl-Z, a
/// debugger) does not count, but for a part of a second. Members may be called from any thread.
class Watchdog {
 public:
  using Clock = std::chrono::steady_clock;
  using Time = std::chrono::milliseconds;
  struct Stretch {
    std::string name;  ///< as messages name it
    Time told{0};      ///< `tell` is called after this time, twice it, four times it, …; 0: never
    Time limit{0};     ///< after it `is_over`; 0: never
    Time patience{0};  ///< `end` is called that much after the limit
    Error ended{};     ///< why, for `end`
  };
  using Shared = std::shared_ptr<const Stretch>;
  /// Called on the watchdog's thread; either may be none.
  struct Actions {
    std::function<void(const Stretch& stretch, Time ran)> tell;
    std::function<void(const Stretch& stretch)> end;
  };
  /// A stretch and how far it is.
  struct Watched {
    Shared stretch = nullptr;
    Clock::duration ran{0};                       ///< until `since`
    std::optional<Clock::time_point> since = {};  ///< nothing: it rests
    Time next_told{0};
    bool has_ended = false;
  };

  explicit Watchdog(Actions actions) : actions_(std::move(actions)), thread_([this] { run(); }) {}
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// The stretch begins now; null: nothing is watched. Returns what was watched before, for `restore`.
  Watched begin(Shared stretch);
  void restore(Watched watched);
  /// Whether it was running.
  bool pause();
  /// It goes on where it was.
  void resume();
  /// It begins anew, as `stretch` where that is not null.
  void restart(Shared stretch);
  bool is_over() const { return is_over_.load(std::memory_order_relaxed); }

 private:
  void run();
  void look(std::unique_lock<std::mutex>& lock);
  std::optional<Clock::duration> until_due() const;
  void set(Watched watched);
  Clock::duration ran() const {
    return watched_.since ? watched_.ran + (Clock::now() - *watched_.since) : watched_.ran;
  }

  const Actions actions_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool called_off_ = false;
  Watched watched_;
  Clock::time_point sleeps_until_{};  ///< the thread
  std::atomic<bool> is_over_{false};
  std::thread thread_;
};

}  // namespace baleen
