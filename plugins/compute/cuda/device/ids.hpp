/// \file Numbers that select rows, checked on the device: where a wrong one is noted, and where a rank holds a part.
#pragma once
#include "layout.hpp"

namespace baleen::cuda {

/// In device memory, one per stream. The first launch that meets a wrong id keeps the record.
struct IdRecord {
  unsigned launch = 0;  ///< number of that launch, from 1; 0: all ids were right
  unsigned reserved = 0;
  unsigned long long key = 0;  ///< ~0 - (position << 32 | id) so that 0 means nothing yet; the lowest position stays
};

/// Passed to kernels that read ids.
struct IdReport {
  IdRecord* record = nullptr;
  unsigned launch = 0;
};

/// Which ids are right.
struct IdRange {
  int64_t limit = 0;
  int64_t ignore = INT64_MIN;
};

/// The global ids that select along a dimension of which this rank may hold a part.
struct HeldRuns {
  static constexpr int kMost = 16;
  int32_t count = 0;
  int64_t local[kMost] = {}, global[kMost] = {}, length[kMost] = {};

  /// Where it stands here; negative where another rank holds it.
  BALEEN_BOTH int64_t find(int64_t id) const {
    for (int i = 0; i < count; ++i)
      if (id >= global[i] && id < global[i] + length[i]) return local[i] + id - global[i];
    return -1;
  }
};

#if defined(__CUDACC__) || defined(BALEEN_EMULATED)
/// Whether the id is right, or ignored; notes it otherwise.
__device__ __forceinline__ bool check_id(const IdReport& report, const IdRange& range, int64_t position, int32_t id) {
  if ((id >= 0 && id < range.limit) || id == range.ignore) return true;
  const unsigned first = atomicCAS(&report.record->launch, 0u, report.launch);
  if (first != 0u && first != report.launch) return false;
  const auto capped = static_cast<unsigned long long>(position < 0xfffffffe ? position : 0xfffffffe);
  atomicMax(&report.record->key, ~0ull - (capped << 32 | static_cast<uint32_t>(id)));
  return false;
}
#endif

}  // namespace baleen::cuda
