/// \file top_k of the last dimension: each pass finds the next of the order (descending, equal values by ascending id,
/// NaN above all). A block per row; meant for the few of many that routers and samplers ask for.
#include "device.cuh"
#include "rows.hpp"

namespace baleen::cuda {
namespace {

template <class T>
struct Ranked {
  T value;
  int64_t id;  // negative: nothing
};

/// Whether a stands before b.
template <class T>
__device__ bool before(const Ranked<T>& a, const Ranked<T>& b) {
  if (b.id < 0 || a.id < 0) return b.id < 0 && a.id >= 0;
  if (a.value > b.value || (a.value != a.value && b.value == b.value)) return true;
  if (a.value < b.value || (b.value != b.value && a.value == a.value)) return false;
  return a.id < b.id;
}

template <class T>
__device__ Ranked<T> first_of_block(Ranked<T> best, Ranked<T>* parts) {
  for (int lane = 16; lane > 0; lane /= 2) {
    const Ranked<T> other{__shfl_xor_sync(0xffffffffu, best.value, lane), __shfl_xor_sync(0xffffffffu, best.id, lane)};
    if (before(other, best)) best = other;
  }
  __syncthreads();
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = best;
  __syncthreads();
  for (unsigned warp = 0; warp < blockDim.x / 32; ++warp)
    if (before(parts[warp], best)) best = parts[warp];
  return best;
}

template <class T>
__device__ void top_k(const TopKArgs& args) {
  __shared__ Ranked<T> parts[32];
  int64_t at[3];
  args.rows.leading.offsets(blockIdx.x, at);
  Ranked<T> last{T(0), -1};
  for (int64_t k = 0; k < args.k; ++k) {
    Ranked<T> best{T(0), -1};
    for (int64_t i = threadIdx.x; i < args.rows.width; i += blockDim.x) {
      const Ranked<T> one{load<T>(args.x, at[0] + i * args.rows.inner[0]), i};
      if ((k == 0 || before(last, one)) && before(one, best)) best = one;
    }
    last = first_of_block(best, parts);
    if (threadIdx.x != 0) continue;
    store(args.values, at[1] + k * args.rows.inner[1], last.value);
    args.ids[at[2] + k * args.rows.inner[2]] = static_cast<int32_t>(last.id);
  }
}

}  // namespace

BALEEN_KERNEL(1024, baleen_top_k_f32, TopKArgs) { top_k<float>(args); }
BALEEN_KERNEL(1024, baleen_top_k_f64, TopKArgs) { top_k<double>(args); }

}  // namespace baleen::cuda
