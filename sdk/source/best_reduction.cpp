/// \file The choice of an instruction set.
#include "baleen/reduction.hpp"

#include "routines.hpp"

namespace baleen::sdk {

Reduction best_reduction(baleen_dtype_t dtype, baleen_reduction_t reduction) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd"))
    return avx512::find_reduction(dtype, reduction);
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma"))
    return avx2::find_reduction(dtype, reduction);
#endif
  return baseline::find_reduction(dtype, reduction);
}

}  // namespace baleen::sdk
