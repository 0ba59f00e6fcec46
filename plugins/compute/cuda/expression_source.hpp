/// \file From an expression to the text of a CUDA kernel.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "baleen/compute.h"
#include "baleen/expression.h"
#include "baleen/result.hpp"

namespace baleen::cuda {

/// One operand as the generator sees it: strides along the kernel's dimensions.
struct GeneratedOperand {
  baleen_dtype_t dtype = BALEEN_F32;
  std::vector<std::int64_t> stride;
};

/// The global indices that a dimension holds.
struct GeneratedDimension {
  std::int64_t extent = 1, global_extent = 1;
  std::vector<baleen_run_t> runs;  ///< empty: one from 0
  std::int64_t micro_step = 0;     ///< added per micro-batch
};

/// All that the text depends on.
struct GeneratedKernel {
  std::vector<baleen_instruction_t> code;
  std::vector<std::int64_t> results;
  std::vector<GeneratedDimension> shape;
  std::vector<GeneratedOperand> inputs, outputs;
  bool wide = false;  ///< computed in fp64

  /// How many neighbours of a row a thread may compute at once, 0 where they do not lie together in every operand (or
  /// are one value): eight where that makes 16 bytes of 16-bit elements, else four.
  int pack() const;
  std::int64_t elements() const;
};

/// The kernels' names; a thread of the second computes packs.
constexpr const char* kPointwiseName = "baleen_pointwise";
constexpr const char* kPointwisePackName = "baleen_pointwise_pack";

/// The only argument of a generated kernel is so many addresses (inputs, then outputs), seed, step and micro-batch.
struct PointwiseArgs {
  static constexpr std::size_t kMostOperands = 64;
  void* operand[kMostOperands];
  std::uint64_t seed, step, micro;
};

/// The source: kPointwiseName, and kPointwisePackName where it packs.
std::string generate(const GeneratedKernel& kernel);

/// Merges dimensions that all operands allow to merge, where no instruction asks for coordinates.
GeneratedKernel simplified(GeneratedKernel kernel);

}  // namespace baleen::cuda
