/// \file Numbers that select rows: checked before anything is computed from them, and found where a rank holds a part.
#pragma once
#include <limits>
#include <string>
#include <vector>

#include "rows.hpp"

namespace baleen::cpu {

constexpr std::int64_t kNoIgnore = std::numeric_limits<std::int64_t>::min();

/// Every id must be in [0, limit), or be `ignore`. Tells the first that is not, with the op's name.
inline Status check_ids(const std::string& name, const Operand& ids, const Walk& walk, std::size_t operand,
                        const baleen_launch_t& launch, std::int64_t limit, std::int64_t ignore = kNoIgnore) {
  const std::int32_t* data = ids.at<const std::int32_t>(launch);
  for (std::int64_t i = 0; i < walk.size(); ++i) {
    const std::int64_t id = data[walk.offset(operand, i)];
    if ((id >= 0 && id < limit) || id == ignore) continue;
    std::string text = "id " + std::to_string(id) + " at position " + std::to_string(i) + " is outside [0, " +
                       std::to_string(limit) + ")";
    if (ignore != kNoIgnore) text += " and is not the ignored " + std::to_string(ignore);
    return invalid(text, name);
  }
  return {};
}

/// The global ids that select along a dimension of which this rank may hold a part.
class HeldIds {
 public:
  HeldIds(const Operand& operand, std::uint32_t dim)
      : count_(operand.extent(dim)),
        runs_(operand.tensor.runs[dim], operand.tensor.runs[dim] + operand.tensor.run_count[dim]) {
    if (runs_.empty())
      runs_.push_back({0, 0, count_});
    else
      count_ = operand.tensor.global_shape[dim];
  }

  /// Over all ranks.
  std::int64_t count() const { return count_; }
  /// Where it stands here; negative where another rank holds it.
  std::int64_t find(std::int64_t id) const {
    for (const baleen_run_t& run : runs_)
      if (id >= run.global && id < run.global + run.length) return run.local + id - run.global;
    return -1;
  }

 private:
  std::int64_t count_;
  std::vector<baleen_run_t> runs_;
};

/// The dtype of ids.
inline Status check_id_type(const Source& source, const Operand& ids) {
  if (ids.tensor.dtype == BALEEN_I32) return {};
  return unsupported("ids of dtype " + std::string(dtype_name(ids.tensor.dtype)) + "; ids are int32",
                     std::string(source.op().name()));
}

}  // namespace baleen::cpu
