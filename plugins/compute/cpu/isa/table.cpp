/// \file The table of inner loops of one instruction set.
#include "tables.hpp"

#define BALEEN_PASTE_(a, b) a##b
#define BALEEN_PASTE(a, b) BALEEN_PASTE_(a, b)
#define BALEEN_TEXT_(a) #a
#define BALEEN_TEXT(a) BALEEN_TEXT_(a)

namespace baleen::cpu {

const Routines& BALEEN_PASTE(routines_, BALEEN_CPU_ISA)() {
  static const Routines table = [] {
    Routines r{};
    r.name = BALEEN_TEXT(BALEEN_CPU_ISA);
#if defined(__AVX512F__)
    r.loops = LoopIsa::kAvx512;
#elif defined(__AVX2__) && defined(__F16C__)
    r.loops = LoopIsa::kAvx2;
#endif
    BALEEN_CPU_ISA::fill_peak(r);
    BALEEN_CPU_ISA::fill_tile_ops(r);
    BALEEN_CPU_ISA::fill_convert(r);
    BALEEN_CPU_ISA::fill_random(r);
    BALEEN_CPU_ISA::fill_rows(r);
    BALEEN_CPU_ISA::fill_norm(r);
    BALEEN_CPU_ISA::fill_gemm(r);
    BALEEN_CPU_ISA::fill_attention(r);
    BALEEN_CPU_ISA::fill_attention_grad(r);
    return r;
  }();
  return table;
}

}  // namespace baleen::cpu
