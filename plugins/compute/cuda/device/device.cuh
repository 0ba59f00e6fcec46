/// \file What all kernels use: how one is declared, its shared memory, and sums over warps and blocks in a fixed order.
#pragma once
#include <stdint.h>

#include "layout.hpp"
#include "values.cuh"

/// Declares a kernel that takes one argument struct, `args`. The test suite's emulation has definitions of its own.
/// BALEEN_RESIDENT_KERNEL takes so few registers that a multiprocessor holds so many of its blocks.
#ifdef BALEEN_KERNEL
#define BALEEN_RESIDENT_KERNEL(most_threads, blocks, name, Args) BALEEN_KERNEL(most_threads, name, Args)
#else
#define BALEEN_RESIDENT_KERNEL(most_threads, blocks, name, Args) \
  extern "C" __global__ void __launch_bounds__(most_threads, blocks) name(const __grid_constant__ Args args)
#define BALEEN_KERNEL(most_threads, name, Args) BALEEN_RESIDENT_KERNEL(most_threads, 1, name, Args)
#endif

/// Before a loop of fixed length whose arrays are to be in registers.
#ifdef __CUDACC__
#define BALEEN_UNROLL _Pragma("unroll")
#else
#define BALEEN_UNROLL
#endif

namespace baleen::cuda {

/// The block's dynamic shared memory.
#ifndef BALEEN_SHARED_MEMORY
#define BALEEN_SHARED_MEMORY() baleen::cuda::dynamic_shared_memory()
__device__ __forceinline__ unsigned char* dynamic_shared_memory() {
  extern __shared__ __align__(16) unsigned char bytes[];
  return bytes;
}
#endif

/// Copies 16 bytes from device to shared memory, both at multiples of 16 bytes, while the thread goes on; the copies
/// between two end_copies are a group. wait_for_copies waits until at most kLeft of the thread's own groups are under
/// way.
#ifdef __CUDACC__
__device__ __forceinline__ void begin_copy(void* shared, const void* from) {
  asm volatile(
      "cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(static_cast<uint32_t>(__cvta_generic_to_shared(shared))),
      "l"(from)
      : "memory");
}
__device__ __forceinline__ void end_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int kLeft>
__device__ __forceinline__ void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kLeft) : "memory");
}
#else
inline void begin_copy(void* shared, const void* from) { memcpy(shared, from, 16); }
inline void end_copies() {}
template <int kLeft>
void wait_for_copies() {}
#endif

template <class T>
struct Sum {
  static __device__ __forceinline__ T empty() { return T(0); }
  static __device__ __forceinline__ T of(T a, T b) { return a + b; }
};
/// The larger; a NaN stays.
template <class T>
struct Largest {
  static __device__ __forceinline__ T empty() { return -T(INFINITY); }
  static __device__ __forceinline__ T of(T a, T b) { return a >= b || a != a ? a : b; }
};

/// Over the 32 lanes; all get the result.
template <class Fold, class T>
__device__ __forceinline__ T fold_warp(T x) {
  for (int lane = 16; lane > 0; lane /= 2) x = Fold::of(x, __shfl_xor_sync(0xffffffffu, x, lane));
  return x;
}

/// Over all threads of a block of whole warps; all get the result. Every thread must come here, and sees afterwards
/// what the others wrote to shared memory before.
template <class Fold, class T>
__device__ __forceinline__ T fold_block(T x) {
  __shared__ T parts[32];
  x = fold_warp<Fold>(x);
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
  if (warps == 1) {
    __syncwarp();
    return x;
  }
  __syncthreads();  // the last fold's parts have been read
  if (lane == 0) parts[warp] = x;
  __syncthreads();
  return fold_warp<Fold>(lane < warps ? parts[lane] : Fold::empty());
}

}  // namespace baleen::cuda
