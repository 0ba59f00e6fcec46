/// \file Arguments of the reductions over some dimensions.
#pragma once
#include "layout.hpp"
#include "values.hpp"

namespace baleen::cuda {

/// What is reduced of an element: squares are summed, of magnitudes the largest is found.
enum Taken : int32_t { kTakenItself, kTakenSquare, kTakenMagnitude };

/// First pass: a partial result per kept element and block of reduced positions, at out[block * kept + element]; or the
/// result itself, through `y`, where there is one block.
struct ReduceArgs {
  Walk<2> kept;     // x, y
  Walk<1> reduced;  // x
  Values x, y;
  void* partials;  // or null: y gets the result
  int64_t block;   // reduced positions per block; of packs by rows, whole packs
  int32_t packs;   // neighbours of the reduced dimensions (by rows) or the kept ones (by columns) lie in packs
  int32_t is_max;
  int32_t taken;
};
/// Second pass: adds the blocks' partials.
struct ReducePartialsArgs {
  Walk<1> kept;  // y
  const void* partials;
  Values y;
  int64_t blocks;
  int32_t is_max;
};

}  // namespace baleen::cuda
