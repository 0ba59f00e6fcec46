/// \file Arguments of the kernels that copy elements: between strides and dtypes, and rows of a table by ids.
#pragma once
#include "ids.hpp"
#include "values.hpp"

namespace baleen::cuda {

/// Elements of `walk` from one operand to the other. Without `from` zeros are written.
struct MoveArgs {
  Walk<2> walk;  // to, from
  void* to;
  const void* from;
};
/// Row-major order kept between two shapes that share no dimensions.
struct ReorderArgs {
  Walk<1> to_walk, from_walk;
  void* to;
  const void* from;
};

/// The same between dtypes.
struct ConvertArgs {
  Walk<2> walk;  // to, from
  Values to, from;
};

/// One block per position.
struct EmbeddingArgs {
  Walk<2> positions;  // ids, y
  Walk<2> row;        // table, y
  int32_t packs;      ///< rows of both are packed, and begin at multiples of a pack
  Values table;
  const int32_t* ids;
  Values y;
  int64_t table_stride;
  IdRange range;
  HeldRuns held;
  IdReport report;
};

}  // namespace baleen::cuda
