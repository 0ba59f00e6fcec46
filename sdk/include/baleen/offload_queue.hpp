/// \file The started operations of an offload store: which may begin, in which order, and how they end.
#pragma once
#include <algorithm>
#include <cstdint>
#include <mutex>
#include <vector>

#include "baleen/event.hpp"
#include "baleen/offload.h"

namespace baleen::sdk {

/// A started operation; its address stays until it is finished.
struct OffloadOperation {
  baleen_offload_transfer_t transfer{};
  bool is_put = false;
  bool has_begun = false;
  std::uint32_t number = 0;  ///< of its place in the queue, for tables of a member's own
};

/// A table of fixed size. [any thread]
class OffloadQueue {
 public:
  explicit OffloadQueue(std::uint32_t most) : places_(most) {
    order_.reserve(most);
    free_.reserve(most);
    for (std::uint32_t i = most; i-- > 0;) free_.push_back(i);
    for (std::uint32_t i = 0; i < most; ++i) places_[i].number = i;
  }

  std::uint32_t most() const { return static_cast<std::uint32_t>(places_.size()); }
  std::uint32_t unfinished() const {
    std::lock_guard lock(mutex_);
    return static_cast<std::uint32_t>(order_.size());
  }
  /// Enqueues; false where too many are unfinished. Wakes the workers.
  bool add(const baleen_offload_transfer_t& transfer, bool is_put) {
    std::lock_guard lock(mutex_);
    if (free_.empty()) return false;
    enqueue(transfer, is_put);
    event_signal(news_, ++turn_);
    return true;
  }
  /// The same of one that the caller runs itself, if it may begin at once; null, and nothing is enqueued, if not.
  OffloadOperation* add_begun(const baleen_offload_transfer_t& transfer, bool is_put) {
    if (transfer.after && event_value(*transfer.after) < transfer.after_value) return nullptr;
    std::lock_guard lock(mutex_);
    if (free_.empty()) return nullptr;
    OffloadOperation& added = enqueue(transfer, is_put);
    if (must_wait(order_.size() - 1)) {
      order_.pop_back();
      free_.push_back(added.number);
      --waiting_;
      return nullptr;
    }
    return begin(added);
  }
  /// The first one that may begin, which has begun then; null: none. `*gated`: whether some wait for their `after`,
  /// whose signals wake nobody here: look again soon.
  OffloadOperation* next(bool* gated) {
    std::lock_guard lock(mutex_);
    *gated = false;
    for (std::size_t i = 0; i < order_.size(); ++i) {
      OffloadOperation& operation = places_[order_[i]];
      if (operation.has_begun) continue;
      const baleen_offload_transfer_t& transfer = operation.transfer;
      if (transfer.after && event_value(*transfer.after) < transfer.after_value) {
        *gated = true;
        continue;
      }
      if (must_wait(i)) continue;
      return begin(operation);
    }
    return nullptr;
  }
  /// Any that has not begun, in order; for the end of the store. It counts as begun then.
  OffloadOperation* next_waiting() {
    std::lock_guard lock(mutex_);
    for (const std::uint32_t place : order_)
      if (!places_[place].has_begun) return begin(places_[place]);
    return nullptr;
  }
  /// Ends it: its place is free before its event is raised, so that who sees the event may start as many again.
  void finish(OffloadOperation& operation, bool failed) {
    baleen_event_t* const done = operation.transfer.done;
    const std::uint64_t value = failed ? BALEEN_EVENT_FAILED : operation.transfer.done_value;
    {
      std::lock_guard lock(mutex_);
      order_.erase(std::find(order_.begin(), order_.end(), operation.number));
      free_.push_back(operation.number);
      if (waiting_ > 0) event_signal(news_, ++turn_);  // what waited for its bytes may begin
    }
    if (done) event_signal(*done, value);
  }

  /// Wakes the workers without news.
  void wake() {
    std::lock_guard lock(mutex_);
    event_signal(news_, ++turn_);
  }
  /// What a worker takes before it looks for work; `sleep` returns at once if there were news since.
  std::uint64_t prepare_sleep() { return event_prepare_sleep(news_); }
  /// Sleeps until there are news. `gated`: only a tenth of a millisecond.
  void sleep(std::uint64_t word, bool gated) {
    constexpr double kGlance = 1e-4;
    const timespec deadline = event_deadline(kGlance);
    event_sleep(news_, word, gated ? &deadline : nullptr);
  }

 private:
  OffloadOperation& enqueue(const baleen_offload_transfer_t& transfer, bool is_put) {
    const std::uint32_t place = free_.back();
    free_.pop_back();
    places_[place] = {transfer, is_put, false, place};
    order_.push_back(place);
    ++waiting_;
    return places_[place];
  }
  OffloadOperation* begin(OffloadOperation& operation) {
    operation.has_begun = true;
    --waiting_;
    return &operation;
  }
  /// Whether an earlier one on the same bytes is unfinished, and one of the two writes them.
  bool must_wait(std::size_t at) const {
    const OffloadOperation& later = places_[order_[at]];
    const std::uint64_t begin = later.transfer.offset, end = begin + later.transfer.bytes;
    for (std::size_t i = 0; i < at; ++i) {
      const OffloadOperation& earlier = places_[order_[i]];
      if (earlier.transfer.slot != later.transfer.slot || !(earlier.is_put || later.is_put)) continue;
      const std::uint64_t other = earlier.transfer.offset;
      if (begin < other + earlier.transfer.bytes && other < end) return true;
    }
    return false;
  }

  mutable std::mutex mutex_;
  std::vector<OffloadOperation> places_;
  std::vector<std::uint32_t> order_, free_;  // of unfinished places in the order of their starts; of free ones
  std::uint64_t waiting_ = 0;                // of unfinished ones that have not begun
  std::uint64_t turn_ = 0;
  baleen_event_t news_{};
};

}  // namespace baleen::sdk
