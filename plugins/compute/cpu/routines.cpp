/// \file Chooses the best instruction set that the processor has.
#include "isa/routines.hpp"

namespace baleen::cpu {

const Routines& best_routines() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw"))
    return routines_avx512();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return routines_avx2();
#endif
  return routines_baseline();
}

}  // namespace baleen::cpu
