/// \file The monitors of a run: told late and in order, on a thread of their own, so that nothing waits for them.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "baleen/monitor.h"
#include "core/plugin/plugin.hpp"
#include "core/plugin/settings.hpp"

namespace baleen {

/// A fact of a record: a number, or a text where `text` is not empty.
struct Fact {
  std::string name;
  double number = 0;
  std::string text;
};

/// A monitor that was chosen: its library is open and its options are checked.
struct OpenMonitor {
  Plugin plugin;
  SettingsStorage settings;
};

/// An interval as the program recorded it; names outlive the run.
struct MonitorSpan {
  const char* name;
  const char* category;
  std::int64_t begin, end;  ///< nanoseconds since the start of the run
  std::int64_t step;
  double flops = 0;
  std::uint64_t bytes = 0;
};

class Monitors {
 public:
  /// Makes the monitors of a rank: all on rank 0, elsewhere those that want spans. `log` hears of a monitor that fails
  /// later, which ends nothing.
  static Result<std::unique_ptr<Monitors>> create(std::vector<OpenMonitor> chosen, Log log, std::int32_t rank = 0);
  /// Tells all that is queued, then closes the monitors.
  ~Monitors();
  Monitors(const Monitors&) = delete;
  Monitors& operator=(const Monitors&) = delete;

  /// Whether any monitor wants spans.
  bool wants_spans() const;
  /// Queues a record. [one thread]
  void record(baleen_record_kind_t kind, std::int64_t step, std::int64_t steps, std::vector<Fact> facts);
  void spans(std::vector<MonitorSpan> spans);
  /// A note of what the script prints, to the monitors that show a run to people: those with a score of 0 or more,
  /// which are on unless switched off. Returns when they have been told it, behind all that was queued before; false
  /// where none of them was. [one thread]
  bool print(std::int64_t step, std::int64_t steps, std::string_view line);
  /// Returns when everything queued has been told.
  void drain();
  /// Why the first monitor that failed did so. After `drain`.
  Status failure() const { return failure_; }
  /// Seconds since the monitors were made: the run's clock.
  double seconds() const;
  std::int64_t start_ns() const { return start_ns_; }

 private:
  struct Member;
  Monitors(std::vector<std::unique_ptr<Member>> members, Log log, std::int32_t rank);
  void enqueue(std::function<void()> task);
  void work();
  void tell(Member& member, const std::function<baleen_status_t(Member&)>& call);

  std::vector<std::unique_ptr<Member>> members_;
  Log log_;
  std::int32_t rank_;
  std::int64_t start_ns_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  bool busy_ = false, stop_ = false;
  Status failure_;
  std::thread thread_;
};

}  // namespace baleen
