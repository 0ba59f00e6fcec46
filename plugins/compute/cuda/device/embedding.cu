/// \file embedding: rows of a table by ids.
#include "move.hpp"
#include "row.cuh"

namespace baleen::cuda {
namespace {

template <class T, int kMost>
__device__ void embedding(const EmbeddingArgs& args) {
  int64_t position[2];
  args.positions.offsets(blockIdx.x, position);
  const int32_t id = args.ids[position[0]];
  const bool right = check_id(args.report, args.range, blockIdx.x, id);
  const int64_t row = right ? args.held.find(id) : -1;
  if constexpr (kMost > 1) {
    const Row<T> from{args.table, row * args.table_stride, 1}, to{args.y, position[1], 1};
    each<kMost>(args.row.size, [&](auto count, int64_t i) {
      T x[decltype(count)::value] = {};
      if (row >= 0) from.load(i, x);
      to.store(i, x);
    });
  } else {
    for (int64_t i = threadIdx.x; i < args.row.size; i += blockDim.x) {
      int64_t at[2];
      args.row.offsets(i, at);
      store(args.y, position[1] + at[1], row < 0 ? T(0) : load<T>(args.table, row * args.table_stride + at[0]));
    }
  }
}

}  // namespace

BALEEN_KERNEL(256, baleen_embedding_f32, EmbeddingArgs) {
  args.packs ? embedding<float, kPack>(args) : embedding<float, 1>(args);
}
BALEEN_KERNEL(256, baleen_embedding_f64, EmbeddingArgs) { embedding<double, 1>(args); }

}  // namespace baleen::cuda
