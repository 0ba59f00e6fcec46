/// \file Copies between strides and dtypes: a thread per element, the next one a whole grid further.
#include "device.cuh"
#include "move.hpp"

namespace baleen::cuda {
namespace {

__device__ int64_t first_position() { return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ int64_t all_threads() { return static_cast<int64_t>(gridDim.x) * blockDim.x; }

struct alignas(16) Unit16 {
  uint32_t words[4];
};

template <class Unit>
__device__ void move(const MoveArgs& args) {
  for (int64_t position = first_position(); position < args.walk.size; position += all_threads()) {
    int64_t at[2];
    args.walk.offsets(position, at);
    static_cast<Unit*>(args.to)[at[0]] = args.from ? static_cast<const Unit*>(args.from)[at[1]] : Unit{};
  }
}

template <class Unit>
__device__ void reorder(const ReorderArgs& args) {
  for (int64_t position = first_position(); position < args.to_walk.size; position += all_threads()) {
    int64_t to[1], from[1];
    args.to_walk.offsets(position, to);
    args.from_walk.offsets(position, from);
    static_cast<Unit*>(args.to)[to[0]] = static_cast<const Unit*>(args.from)[from[0]];
  }
}

__device__ void convert(const ConvertArgs& args) {
  for (int64_t position = first_position(); position < args.walk.size; position += all_threads()) {
    int64_t at[2];
    args.walk.offsets(position, at);
    store(args.to, at[0], load<float>(args.from, at[1]));
  }
}

}  // namespace

BALEEN_KERNEL(256, baleen_convert, ConvertArgs) { convert(args); }
BALEEN_KERNEL(256, baleen_move_1, MoveArgs) { move<uint8_t>(args); }
BALEEN_KERNEL(256, baleen_move_2, MoveArgs) { move<uint16_t>(args); }
BALEEN_KERNEL(256, baleen_move_4, MoveArgs) { move<uint32_t>(args); }
BALEEN_KERNEL(256, baleen_move_8, MoveArgs) { move<uint64_t>(args); }
BALEEN_KERNEL(256, baleen_move_16, MoveArgs) { move<Unit16>(args); }
BALEEN_KERNEL(256, baleen_reorder_1, ReorderArgs) { reorder<uint8_t>(args); }
BALEEN_KERNEL(256, baleen_reorder_2, ReorderArgs) { reorder<uint16_t>(args); }
BALEEN_KERNEL(256, baleen_reorder_4, ReorderArgs) { reorder<uint32_t>(args); }
BALEEN_KERNEL(256, baleen_reorder_8, ReorderArgs) { reorder<uint64_t>(args); }

}  // namespace baleen::cuda
