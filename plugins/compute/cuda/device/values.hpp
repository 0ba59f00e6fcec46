/// \file Floating elements whose dtype a kernel learns from its arguments, so that every operand may have its own.
#pragma once
#include <stdint.h>

namespace baleen::cuda {

/// The dtypes of floating elements. fp64 meets no other.
enum Stored : int32_t { kStoredF32, kStoredBf16, kStoredF16, kStoredF64 };

/// Where they are. Kernels compute in fp64 where they lie in fp64, else in fp32.
struct Values {
  void* data = nullptr;
  int32_t stored = kStoredF32;
};

/// Elements that a thread loads or stores together where they lie together: 16 bytes of bf16 or fp16.
constexpr int kPack = 8;

}  // namespace baleen::cuda
