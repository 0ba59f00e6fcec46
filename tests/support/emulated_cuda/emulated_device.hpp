/// \file Lets an ordinary compiler take CUDA kernels: included before a .cu file or a generated source. Threads of a
/// block are fibers of one thread (fibers.hpp), so barriers and warps mean what they mean on a device.
#pragma once
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "emulated_half.hpp"

#define BALEEN_EMULATED 1

/// Where a thread stands in its launch.
struct EmulatedIndex {
  unsigned x, y, z;
};
struct EmulatedThread {
  EmulatedIndex thread, block, block_size, grid;
  unsigned char* shared;
};

extern "C" {
EmulatedThread* baleen_emulated_thread();
void baleen_emulated_sync_block();
uint64_t baleen_emulated_exchange(uint64_t value, unsigned lane_mask);
unsigned baleen_emulated_ballot(int yes);
}

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __shared__ static thread_local
#define __launch_bounds__(threads)
#define threadIdx (baleen_emulated_thread()->thread)
#define blockIdx (baleen_emulated_thread()->block)
#define blockDim (baleen_emulated_thread()->block_size)
#define gridDim (baleen_emulated_thread()->grid)
#define BALEEN_SHARED_MEMORY() (baleen_emulated_thread()->shared)

/// A kernel is found by its name with "_emulated"; it takes the address of its arguments.
#define BALEEN_KERNEL(most_threads, name, Args)                                                                    \
  static void name(const Args& args);                                                                              \
  extern "C" __attribute__((visibility("default"))) void name##_emulated(const void* args) {                       \
    name(*static_cast<const Args*>(args));                                                                         \
  }                                                                                                                \
  extern "C" __attribute__((visibility("default"))) unsigned long name##_emulated_bytes() { return sizeof(Args); } \
  extern "C" __attribute__((visibility("default"))) unsigned name##_emulated_threads() { return most_threads; }    \
  static void name(const Args& args)

inline float __fadd_rn(float x, float y) { return x + y; }
inline double __dadd_rn(double x, double y) { return x + y; }
inline void __syncthreads() { baleen_emulated_sync_block(); }

template <class T>
inline T __shfl_xor_sync(unsigned, T value, int lane_mask) {
  static_assert(sizeof(T) <= 8);
  uint64_t bits = 0;
  memcpy(&bits, &value, sizeof value);
  bits = baleen_emulated_exchange(bits, static_cast<unsigned>(lane_mask));
  memcpy(&value, &bits, sizeof value);
  return value;
}
inline unsigned __ballot_sync(unsigned, int yes) { return baleen_emulated_ballot(yes); }
inline void __syncwarp() { baleen_emulated_ballot(1); }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __ffs(int x) { return __builtin_ffs(x); }

inline unsigned atomicCAS(unsigned* at, unsigned wanted, unsigned value) {
  __atomic_compare_exchange_n(at, &wanted, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  return wanted;
}
inline unsigned long long atomicMax(unsigned long long* at, unsigned long long value) {
  unsigned long long now = __atomic_load_n(at, __ATOMIC_SEQ_CST);
  while (now < value && !__atomic_compare_exchange_n(at, &now, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
  }
  return now;
}

inline unsigned __float_as_uint(float x) {
  unsigned bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}
inline float __uint_as_float(unsigned bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}
inline double normcdf(double x) { return 0.5 * erfc(-x * 0.70710678118654752440); }
inline float normcdff(float x) { return static_cast<float>(normcdf(static_cast<double>(x))); }
