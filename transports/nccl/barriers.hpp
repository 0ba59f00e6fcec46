/// \file Barriers go by the switchboard: they move no data, and are there before there is a device.
#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <thread>

#include "attendance.hpp"
#include "engine.hpp"
#include "switchboard.hpp"

namespace baleen::nccl {

/// A thread that begins barriers in the order of their starts, and waits for them one by one.
class Barriers {
 public:
  Barriers(Engine& engine, Attendance& attendance, Switchboard& switchboard);
  /// After the engine's failure where something is unfinished.
  ~Barriers() { stop(); }
  /// Nothing is told to others any more; `unfinished` still answers.
  void stop();
  Barriers(const Barriers&) = delete;

  /// `key`, `ranks`: of the group. [one thread]
  void begin(const std::string& key, const std::vector<std::int32_t>& ranks, baleen_event_t* after,
             std::uint64_t after_value, baleen_event_t* done, std::uint64_t done_value);
  /// [any thread]
  std::uint64_t unfinished() const {
    const std::uint64_t finished = event_value(finished_), begun = begun_;
    return begun - std::min(begun, finished);
  }
  /// After the engine's failure: until no event is touched any more.
  void await_end() { event_wait(finished_, begun_); }

 private:
  struct Job {
    std::string key;
    std::vector<std::int32_t> ranks;
    baleen_event_t *after = nullptr, *done = nullptr;
    std::uint64_t after_value = 0, done_value = 0;
  };
  void run();
  bool run_one(const Job& job);

  Engine& engine_;
  Attendance& attendance_;
  Switchboard& switchboard_;
  std::unique_ptr<std::array<Job, BALEEN_MAX_OUTSTANDING>> jobs_ =
      std::make_unique<std::array<Job, BALEEN_MAX_OUTSTANDING>>();
  std::map<std::string, std::uint64_t> numbers_;  // of the last barrier of each group
  std::atomic<std::uint64_t> begun_{0};
  baleen_event_t posted_{sizeof(baleen_event_t), 0, 0, nullptr}, finished_{sizeof(baleen_event_t), 0, 0, nullptr},
      stop_{sizeof(baleen_event_t), 0, 0, nullptr};
  std::thread thread_;
};

}  // namespace baleen::nccl
