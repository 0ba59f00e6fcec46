/// \file What the device does at most: a loop of multiply-adds in registers, and one over seven arrays in memory.
#include "device.cuh"
#include "peak.hpp"

namespace baleen::cuda {

BALEEN_KERNEL(256, baleen_peak_flops, PeakFlopsArgs) {
  float x[kPeakChains];
  for (int i = 0; i < kPeakChains; ++i) x[i] = static_cast<float>(threadIdx.x + i);
  for (int turn = 0; turn < args.turns; ++turn)
    for (int i = 0; i < kPeakChains; ++i) x[i] = fmaf(x[i], args.factor, 1.0f);
  float sum = 0;
  for (int i = 0; i < kPeakChains; ++i) sum += x[i];
  if (sum == -1.0f) args.out[0] = sum;  // never: keeps the loop
}

BALEEN_KERNEL(256, baleen_peak_bytes, PeakBytesArgs) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= args.count) return;
  const float a = args.array[0][i], b = args.array[1][i], c = args.array[2][i], d = args.array[3][i];
  args.array[0][i] = a + d;
  args.array[1][i] = b - d;
  args.array[2][i] = c * d;
}

}  // namespace baleen::cuda
