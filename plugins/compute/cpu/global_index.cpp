/// \file Local to global coordinates.
#include "global_index.hpp"

namespace baleen::cpu {

GlobalIndex::GlobalIndex(const baleen_tensor_t& tensor) : micro_dim_(tensor.micro_dim), micro_step_(tensor.micro_step) {
  for (std::uint32_t d = 0; d < tensor.rank; ++d) {
    shape_.push_back(tensor.shape[d]);
    global_shape_.push_back(tensor.global_shape[d]);
    if (tensor.run_count[d] == 0)
      runs_.push_back({{0, 0, tensor.shape[d]}});
    else
      runs_.emplace_back(tensor.runs[d], tensor.runs[d] + tensor.run_count[d]);
  }
}

std::int64_t GlobalIndex::stretch(std::int64_t position, std::int64_t most, std::uint64_t micro,
                                  std::array<std::int64_t, BALEEN_MAX_RANK>& coordinates) const {
  std::int64_t count = shape_.empty() ? 1 : most;
  for (std::size_t d = shape_.size(); d-- > 0;) {
    const std::int64_t local = position % shape_[d];
    position /= shape_[d];
    for (const baleen_run_t& run : runs_[d]) {
      if (local < run.local || local >= run.local + run.length) continue;
      coordinates[d] = run.global + (local - run.local);
      if (d + 1 == shape_.size() && run.local + run.length - local < count) count = run.local + run.length - local;
    }
    if (static_cast<std::int32_t>(d) == micro_dim_) coordinates[d] += static_cast<std::int64_t>(micro) * micro_step_;
  }
  return count;
}

}  // namespace baleen::cpu
