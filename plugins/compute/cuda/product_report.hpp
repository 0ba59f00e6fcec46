/// \file What the log says of products: how many are computed in which way, and once why one is not computed as asked.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <span>
#include <string>

#include "baleen/result.hpp"

namespace baleen::cuda {

/// How a product is computed, the slower the later: by one plain call of cuBLASLt, by one call with its neighbour (an
/// epilogue), by a product and a kernel, with copies of operands or result, or by the plugin's own kernel.
enum class ProductKind { kPlain, kFused, kTwoSteps, kConverted, kOwn };

/// Lives as long as the device. [any thread]
class ProductReport {
 public:
  using Say = std::function<void(baleen_level_t, const std::string&)>;
  explicit ProductReport(Say say) : say_(std::move(say)) {}

  /// Counts products of a kernel that was made.
  void add(std::span<const ProductKind> made);
  /// A line with the counts of the products that were made since the last line; nothing where there are none.
  void tell();
  /// The same text once.
  void once(baleen_level_t level, const std::string& text);

 private:
  Say say_;
  std::mutex mutex_;
  std::set<std::string> said_;
  std::array<std::uint64_t, 5> counts_{};
  std::atomic<bool> untold_ = false;
};

/// Whether cuBLASLt refused a product at a launch, though its heuristics had an algorithm: it is not asked again.
class Refusal {
 public:
  /// `instead` completes "from now on ...".
  Refusal(ProductReport& report, std::string instead) : report_(report), instead_(std::move(instead)) {}

  /// `one`, until it says UNSUPPORTED; then, with a warning, and from then on `other`.
  template <class One, class Other>
  Status run(const One& one, const Other& other) const {
    if (refused_.load(std::memory_order_relaxed)) return other();
    Status done = one();
    if (done || done.error().code != BALEEN_UNSUPPORTED) return done;
    refused_.store(true, std::memory_order_relaxed);
    report_.once(BALEEN_WARNING, done.error().message + "; from now on " + instead_);
    return other();
  }

 private:
  ProductReport& report_;
  std::string instead_;
  mutable std::atomic<bool> refused_ = false;
};

}  // namespace baleen::cuda
