/// \file Counts and words of products.
#include "product_report.hpp"

namespace baleen::cuda {

void ProductReport::add(std::span<const ProductKind> made) {
  if (made.empty()) return;
  const std::lock_guard lock(mutex_);
  for (const ProductKind kind : made) ++counts_[static_cast<std::size_t>(kind)];
  untold_.store(true, std::memory_order_relaxed);
}

void ProductReport::tell() {
  if (!untold_.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(mutex_);
  if (!untold_.exchange(false)) return;
  const auto count = [this](ProductKind kind) { return std::to_string(counts_[static_cast<std::size_t>(kind)]); };
  say_(BALEEN_DEBUG, "products: " + count(ProductKind::kFused) + " fused, " + count(ProductKind::kTwoSteps) +
                         " in two steps, " + count(ProductKind::kConverted) + " converted, " +
                         count(ProductKind::kOwn) + " own");
  counts_ = {};
}

void ProductReport::once(baleen_level_t level, const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (said_.insert(text).second) say_(level, text);
}

}  // namespace baleen::cuda
