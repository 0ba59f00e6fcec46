/// \file Which gathered parameters come together, and where their gathering begins.
#pragma once
#include "baleen/strategy_tools.hpp"

namespace baleen::zero {

using namespace sdk;

struct PrefetchOptions {
  std::uint64_t bucket_bytes = 0;  ///< gathered together
  std::int64_t ahead = 1;          ///< buckets that are being gathered while one is used
  std::uint64_t live_bytes = 0;    ///< of gathered parameters at any time; 0: no bound
};

/// Gathers that run as one, with the ops between which their results are alive.
struct Gathering {
  std::vector<baleen_op_t> ops;
  std::uint64_t bytes = 0;
  std::uint32_t first_use = 0, last_use = 0;  ///< positions
  std::uint32_t begin = 0;                    ///< the position of the op before which it begins
};

/// When each gathering begins: as far ahead as options allow, `live_bytes` kept where `ahead` does not keep it. In the
/// order of first use. An error names the bytes that are needed at least.
Status plan_prefetch(std::vector<Gathering>& gatherings, const PrefetchOptions& options);

}  // namespace baleen::zero
