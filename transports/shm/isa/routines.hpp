/// \file The reductions of one instruction set; isa/reduce.cpp is compiled once for each.
#pragma once
#include "reduce.hpp"

namespace baleen::shm {

#define BALEEN_SHM_ROUTINES(isa)                                                \
  namespace isa {                                                               \
  Reduction find_reduction(baleen_dtype_t dtype, baleen_reduction_t reduction); \
  }
BALEEN_SHM_ROUTINES(baseline)
BALEEN_SHM_ROUTINES(avx2)
BALEEN_SHM_ROUTINES(avx512)
#undef BALEEN_SHM_ROUTINES

}  // namespace baleen::shm
