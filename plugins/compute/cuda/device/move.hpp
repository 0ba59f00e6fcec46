/// \file Arguments of the kernels that copy elements: between strides, and rows of a table by ids.
#pragma once
#include "ids.hpp"

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

/// One block per position.
struct EmbeddingArgs {
  Walk<2> positions;  // ids, y
  Walk<2> row;        // table, y
  const void* table;
  const int32_t* ids;
  void* y;
  int64_t table_stride;
  IdRange range;
  HeldRuns held;
  IdReport report;
};
/// One warp per row of dtable.
struct EmbeddingGradArgs {
  Walk<2> positions;  // ids, dy
  Walk<2> row;        // dtable, dy
  const int32_t* ids;
  const void* dy;
  void* dtable;
  int64_t rows, table_stride;
  IdRange range;
  HeldRuns held;
  IdReport report;
};

}  // namespace baleen::cuda
