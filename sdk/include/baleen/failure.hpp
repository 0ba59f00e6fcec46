/// \file The first failure of a transport, kept for all who ask.
#pragma once
#include <atomic>
#include <mutex>
#include <utility>

#include "baleen/result.hpp"

namespace baleen::sdk {

/// [any thread]
class FirstFailure {
 public:
  /// False where there was one already.
  bool set(Error error) {
    std::lock_guard lock(mutex_);
    if (failed_) return false;
    error_ = std::move(error);
    failed_.store(true, std::memory_order_release);
    return true;
  }
  explicit operator bool() const { return failed_.load(std::memory_order_acquire); }
  Status status() const {
    if (!*this) return {};
    std::lock_guard lock(mutex_);
    return error_;
  }

 private:
  mutable std::mutex mutex_;
  std::atomic<bool> failed_{false};
  Error error_;
};

}  // namespace baleen::sdk
