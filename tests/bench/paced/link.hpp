/// \file A link of one rank: transfers that the wrapped transport has carried out hold it for their time, one after the
/// other, and are over only then.
#pragma once
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

#include "baleen/event.hpp"
#include "baleen/transport.h"

namespace baleen::paced {

/// Its thread sleeps wherever it waits: a link takes no processor from the ranks.
class Link {
 public:
  using Clock = std::chrono::steady_clock;

  struct Transfer {
    /// Reaches `carried_value` when the wrapped transport is done. Lives as long as the link.
    baleen_event_t* carried = nullptr;
    std::uint64_t carried_value = 0;
    Clock::duration time{};          ///< that it holds the link
    bool may_wait = false;           ///< a SEND or RECEIVE: others may overtake it until it is carried out
    baleen_event_t* done = nullptr;  ///< may be null
    std::uint64_t done_value = 0;
  };

  Link();
  /// All that was added must be carried out, or fail, without anybody's help from now on.
  ~Link();
  Link(const Link&) = delete;

  /// False: BALEEN_MAX_OUTSTANDING are unfinished. [one thread]
  bool has_room();
  /// Where it has room. Allocates nothing. [one thread]
  void add(const Transfer& transfer);
  /// What is unfinished fails. [any thread]
  void fail();
  /// Fails what is unfinished and waits until no event of it is touched any more. [one thread]
  void settle();

 private:
  struct Pending {
    Transfer transfer;
    Clock::time_point added{};
    bool failed = false;
    bool holds = false;  ///< the link, until `over`
    Clock::time_point over{};
  };

  void work();
  Pending* next();
  void sleep_until_over(std::unique_lock<std::mutex>& lock, Clock::time_point over);
  void sleep_until_carried(std::unique_lock<std::mutex>& lock);
  void finish(Pending& pending);
  void ring() { event_signal(bell_, ++rings_); }

  std::mutex mutex_;
  std::vector<Pending> pending_;  ///< in the order of their starts
  Clock::time_point free_{};      ///< the end of the last transfer
  bool waited_ = false;           ///< nothing was carried out when the link became free
  bool leaving_ = false;
  baleen_event_t bell_{sizeof(baleen_event_t), 0, 0, nullptr};
  std::uint64_t rings_ = 0;
  std::thread thread_;
};

}  // namespace baleen::paced
