/// \file Arguments of the kernels that sort positions by the row that they select, keeping their order, and add rows.
#pragma once
#include "ids.hpp"
#include "values.hpp"

namespace baleen::cuda {

constexpr int kDigitBits = 8, kDigits = 1 << kDigitBits;  ///< of a key that one pass sorts by
constexpr int kSortTile = 1024;                           ///< positions of one warp
constexpr int kSortWarps = 4;                             ///< of a block
constexpr int kSumBlock = 4;  ///< sorted positions of which a block adds the runs that begin there

/// keys[i] = the row that ids select at position i, or `rows` where none of this rank's; positions[i] = i.
struct SortKeysArgs {
  Walk<1> walk;  // ids
  const int32_t* ids;
  uint32_t *keys, *positions;
  uint32_t rows;
  IdRange range;
  HeldRuns held;
  IdReport report;
};
/// One pass: stable by one digit. `counts` is [kDigits, tiles].
struct SortPassArgs {
  const uint32_t *keys, *positions;
  uint32_t *keys_out, *positions_out, *counts;
  int64_t size, tiles;
  int32_t shift;
};
/// Each sum becomes that of all before it.
struct SortScanArgs {
  uint32_t* counts;
  int64_t size;
};
/// Rows of dy at positions of one key are added to that row of dtable, in the order of positions.
struct SumRowsArgs {
  Walk<2> places;  // ids, dy
  Walk<2> row;     // dtable, dy
  int32_t packs;   ///< rows of both are packed, and begin at multiples of a pack
  const uint32_t *keys, *positions;
  int64_t size;
  Values dy, dtable;
  int64_t rows, table_stride;
};

}  // namespace baleen::cuda
