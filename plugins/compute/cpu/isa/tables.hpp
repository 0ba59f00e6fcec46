/// \file The parts from which one instruction set's table is put together.
#pragma once
#include "routines.hpp"

namespace baleen::cpu::BALEEN_CPU_ISA {

void fill_peak(Routines& routines);
void fill_tile_ops(Routines& routines);
void fill_convert(Routines& routines);
void fill_random(Routines& routines);
void fill_rows(Routines& routines);
void fill_norm(Routines& routines);
void fill_gemm(Routines& routines);
void fill_attention(Routines& routines);
void fill_attention_grad(Routines& routines);

}  // namespace baleen::cpu::BALEEN_CPU_ISA
