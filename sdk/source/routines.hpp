/// \file The reductions of one instruction set; reduce.cpp is compiled once for each.
#pragma once
#include "baleen/reduction.hpp"

namespace baleen::sdk {

#define BALEEN_REDUCTION_ROUTINES(isa)                                          \
  namespace isa {                                                               \
  Reduction find_reduction(baleen_dtype_t dtype, baleen_reduction_t reduction); \
  }
BALEEN_REDUCTION_ROUTINES(baseline)
BALEEN_REDUCTION_ROUTINES(avx2)
BALEEN_REDUCTION_ROUTINES(avx512)
#undef BALEEN_REDUCTION_ROUTINES

}  // namespace baleen::sdk
