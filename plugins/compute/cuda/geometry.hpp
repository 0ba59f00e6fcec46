/// \file How many blocks and threads a kernel gets: functions of shapes alone, so that results do not depend on the
/// device.
#pragma once
#include <algorithm>
#include <cstdint>

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

/// Blocks that share the rows of norm_grad: at least 8 rows each, at most 1024 blocks.
inline std::int64_t norm_grad_blocks(std::int64_t rows) { return std::clamp<std::int64_t>(ceil_div(rows, 8), 1, 1024); }

}  // namespace baleen::cuda
