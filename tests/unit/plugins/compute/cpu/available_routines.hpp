/// \file The instruction sets that this processor runs, the plainest first.
#pragma once
#include <vector>

#include "isa/routines.hpp"

namespace baleen::cpu {

inline std::vector<const Routines*> available_routines() {
  std::vector<const Routines*> out{&routines_baseline()};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) out.push_back(&routines_avx2());
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw"))
    out.push_back(&routines_avx512());
#endif
  return out;
}

}  // namespace baleen::cpu
