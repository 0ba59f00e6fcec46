/// \file Products of any strides: tiles of 32 x 32 in shared memory, four results per thread.
#include "contract.hpp"
#include "device.cuh"

namespace baleen::cuda {
namespace {

constexpr int kTile = kContractTile, kRowsApart = 8, kEach = kTile / kRowsApart;

/// Where an operand's rows (or columns) of this tile begin.
struct TileOffsets {
  int64_t a[kTile], b[kTile];
};

__device__ void find_offsets(const ContractArgs& args, int64_t row, int64_t column, TileOffsets& out) {
  const int i = static_cast<int>(threadIdx.x);
  if (i < kTile) {
    int64_t at[2] = {};
    if (row + i < args.m.size) args.m.offsets(row + i, at);
    out.a[i] = at[0];
  } else if (i < 2 * kTile) {
    int64_t at[2] = {};
    if (column + i - kTile < args.n.size) args.n.offsets(column + i - kTile, at);
    out.b[i - kTile] = at[0];
  }
}

template <class T>
__device__ void contract(const ContractArgs& args) {
  __shared__ TileOffsets offsets;
  __shared__ T left[kTile][kTile + 1], right[kTile][kTile + 1];
  const int64_t row = static_cast<int64_t>(blockIdx.y) * kTile, column = static_cast<int64_t>(blockIdx.x) * kTile;
  const int x = static_cast<int>(threadIdx.x) % kTile, first_row = static_cast<int>(threadIdx.x) / kTile;
  int64_t batch[3];
  args.batch.offsets(blockIdx.z, batch);
  find_offsets(args, row, column, offsets);
  T sums[kEach] = {};
  for (int64_t first = 0; first < args.k.size; first += kTile) {
    __syncthreads();
    int64_t depth[2] = {};
    if (first + x < args.k.size) args.k.offsets(first + x, depth);
    for (int i = first_row; i < kTile; i += kRowsApart) {
      const bool in = first + x < args.k.size;
      left[i][x] = in && row + i < args.m.size ? load<T>(args.a, batch[0] + offsets.a[i] + depth[0]) : T(0);
      right[x][i] = in && column + i < args.n.size ? load<T>(args.b, batch[1] + offsets.b[i] + depth[1]) : T(0);
    }
    __syncthreads();
    for (int k = 0; k < kTile; ++k)
      for (int i = 0; i < kEach; ++i) sums[i] += left[first_row + i * kRowsApart][k] * right[k][x];
  }
  if (column + x >= args.n.size) return;
  int64_t n[2];
  args.n.offsets(column + x, n);
  for (int i = 0; i < kEach; ++i) {
    const int64_t at = row + first_row + i * kRowsApart;
    if (at >= args.m.size) continue;
    int64_t m[2];
    args.m.offsets(at, m);
    const int64_t y = batch[2] + m[1] + n[1];
    store(args.y, y, args.adds ? load<T>(args.y, y) + sums[i] : sums[i]);
  }
}

}  // namespace

BALEEN_KERNEL(256, baleen_contract_f32, ContractArgs) { contract<float>(args); }
BALEEN_KERNEL(256, baleen_contract_f64, ContractArgs) { contract<double>(args); }

}  // namespace baleen::cuda
