/// \file Runs what NVIDIA's libraries chose once, when programs are compiled.
#pragma once
#include <functional>
#include <set>
#include <string>

#include "trial_memory.hpp"

namespace baleen::cuda {

/// A library's kernels come to the device at their first launch, which may wait for all streams; in a step some of
/// these wait for the host. Used by one thread.
class WarmUp {
 public:
  /// `stream` has nothing to do meanwhile. `spare`: how many bytes of the device's memory may be taken for a moment.
  WarmUp(const Driver& driver, CUstream stream, std::function<std::uint64_t()> spare)
      : driver_(driver), stream_(stream), spare_(std::move(spare)) {}

  /// Enqueues with buffers of these sizes, which hold zeros, and waits; the second time for a key does nothing.
  /// Nor does it where there is too little memory.
  template <class Enqueue>
  void run(const std::string& key, std::span<const std::uint64_t> bytes, const Enqueue& enqueue) {
    if (!done_.insert(key).second || !has_room(bytes)) return;
    const TrialMemory memory(driver_, stream_, bytes, 0);
    if (memory.is_ready()) enqueue(stream_, memory.buffers());
  }

 private:
  bool has_room(std::span<const std::uint64_t> bytes) const {
    std::uint64_t left = spare_();
    for (const std::uint64_t size : bytes) {
      if (size > left) return false;
      left -= size;
    }
    return true;
  }

  const Driver& driver_;
  CUstream stream_;
  std::function<std::uint64_t()> spare_;
  std::set<std::string> done_;
};

}  // namespace baleen::cuda
