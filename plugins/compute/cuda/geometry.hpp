/// \file How many blocks and threads a kernel gets: functions of shapes alone, so that results do not depend on the
/// device.
#pragma once
#include <algorithm>
#include <cstdint>

#include "device/rows.hpp"

namespace baleen::cuda {

struct Geometry {
  std::int64_t blocks = 0, blocks_y = 1, blocks_z = 1;
  unsigned threads = 256;
  std::uint64_t shared_bytes = 0;

  bool empty() const { return blocks <= 0 || blocks_y <= 0 || blocks_z <= 0; }
};

/// What the device allows.
struct DeviceLimits {
  std::uint64_t shared_bytes = 48 << 10;  ///< of a block, where asked for
  int compute_capability = 80;            ///< major * 10 + minor
};

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// One block per row: enough threads for so many elements each, in whole warps.
inline Geometry block_per_row(std::int64_t rows, std::int64_t width, std::int64_t each = 4) {
  const std::int64_t warps = std::clamp<std::int64_t>(ceil_div(width, each * 32), 1, 32);
  return {rows, 1, 1, static_cast<unsigned>(warps * 32), 0};
}

/// One thread per element, at most 2^20 blocks, which then go on by whole grids.
inline Geometry thread_per_element(std::int64_t elements) {
  return {std::min<std::int64_t>(ceil_div(elements, 256), std::int64_t{1} << 20), 1, 1, 256, 0};
}

/// One warp per element, eight in a block, or as many as there are.
inline Geometry warp_per_element(std::int64_t elements) {
  return {ceil_div(elements, 8), 1, 1, static_cast<unsigned>(std::clamp<std::int64_t>(elements, 1, 8) * 32), 0};
}

/// Reduced positions per block: blocks of at least `least`, at most 1024 of them.
inline std::int64_t reduce_block(std::int64_t reduced, std::int64_t least) {
  return std::max({std::int64_t{1}, least, ceil_div(reduced, 1024)});
}

/// Rows held in registers, one by each warp or block.
inline Geometry held_rows(std::int64_t rows, std::int64_t width, std::int64_t most_by_warp = kHeldByWarp) {
  if (width <= most_by_warp) return {ceil_div(rows, kRowsOfBlock), 1, 1, 32 * kRowsOfBlock, 0};
  return block_per_row(rows, width, kHeldByThread);
}

/// Blocks that share the rows of norm_grad where they are held in registers, with gamma (and the sums of warps, in the
/// bytes of staged rows where there are any) in shared memory: at least 4 rows of each warp or block, at most as many
/// blocks as an H100's 132 multiprocessors hold.
inline Geometry held_norm_grad(std::int64_t rows, std::int64_t width, int bytes) {
  const bool by_warp = width <= most_held_by_warp(bytes);
  Geometry out = held_rows(rows, width, most_held_by_warp(bytes));
  const std::int64_t resident =
      by_warp ? norm_grad_resident(bytes, held_by_lane(width)) : std::max(1u, 512 / out.threads);
  out.blocks = std::clamp<std::int64_t>(ceil_div(rows, 4 * (by_warp ? kRowsOfBlock : 1)), 1, 132 * resident);
  std::uint64_t behind_gamma = by_warp ? 2 * 4 : 0;
  if (by_warp && held_by_lane(width) > kMostInRegisters)
    behind_gamma =
        std::max<std::uint64_t>(behind_gamma, kRowsOfBlock * kStages * 2 * static_cast<std::uint64_t>(bytes));
  out.shared_bytes = static_cast<std::uint64_t>(width) * (4 + behind_gamma);
  return out;
}

/// Blocks that share the rows of norm_grad where they are not: at least 8 rows each, at most 1024 blocks.
inline std::int64_t norm_grad_blocks(std::int64_t rows) { return std::clamp<std::int64_t>(ceil_div(rows, 8), 1, 1024); }

}  // namespace baleen::cuda
