/// \file Numbers that select rows: checked before anything is computed from them.
#pragma once
#include <limits>
#include <string>

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

/// The dtype of ids.
inline Status check_id_type(const Source& source, const Operand& ids) {
  if (ids.tensor.dtype == BALEEN_I32) return {};
  return unsupported("ids of dtype " + std::string(dtype_name(ids.tensor.dtype)) + "; ids are int32",
                     std::string(source.op().name()));
}

}  // namespace baleen::cpu
