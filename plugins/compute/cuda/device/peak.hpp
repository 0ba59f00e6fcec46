/// \file Arguments of the measurements.
#pragma once
#include "layout.hpp"

namespace baleen::cuda {

constexpr int kPeakChains = 16;  ///< independent multiply-adds of a thread

struct PeakFlopsArgs {
  float* out;
  float factor;
  int32_t turns;
};
struct PeakBytesArgs {
  float* array[4];  // all are read, the first three written
  int64_t count;
};

}  // namespace baleen::cuda
