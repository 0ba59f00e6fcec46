/// \file Makes the walks of kernels from operands: neighbouring dimensions are merged where all operands allow it.
#pragma once
#include <array>
#include <initializer_list>
#include <limits>
#include <span>
#include <vector>

#include "device/rows.hpp"
#include "kernel.hpp"

namespace baleen::cuda {

using Strides = std::vector<std::int64_t>;

inline Strides strides_of(const Operand& operand) {
  return {operand.tensor.stride, operand.tensor.stride + operand.rank()};
}

inline Strides packed_strides(std::span<const std::int64_t> shape) {
  Strides out(shape.size());
  std::int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0; stride *= shape[i]) out[i] = stride;
  return out;
}

/// Dimensions of extent 1 are left out; neighbours are merged where in every operand the outer one continues the inner.
template <int kOperands>
Walk<kOperands> make_walk(std::span<const std::int64_t> shape, const std::array<Strides, kOperands>& strides) {
  Walk<kOperands> walk;
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    walk.size *= shape[dim];
    if (shape[dim] == 1) continue;
    const int last = walk.rank - 1;
    bool merges = last >= 0;
    for (std::size_t i = 0; merges && i < kOperands; ++i) merges = walk.stride[i][last] == strides[i][dim] * shape[dim];
    const int to = merges ? last : walk.rank++;
    walk.extent[to] = merges ? walk.extent[to] * shape[dim] : shape[dim];
    for (std::size_t i = 0; i < kOperands; ++i) walk.stride[i][to] = strides[i][dim];
  }
  walk.wide = walk.size > std::numeric_limits<std::int32_t>::max();
  for (int dim = 0; dim < walk.rank && !walk.wide; ++dim)
    if (walk.extent[dim] > 0) walk.divisor[dim] = Divisor::of(static_cast<std::uint32_t>(walk.extent[dim]));
  return walk;
}

/// Whether rows begin at multiples of a pack and are packed themselves. fp64 is not taken in packs.
inline bool lies_in_packs(const Operand& operand, std::uint32_t leading) {
  bool good = operand.tensor.dtype != BALEEN_F64 && operand.inner_stride() == 1;
  for (std::uint32_t d = 0; good && d < leading; ++d) good = operand.extent(d) <= 1 || operand.stride(d) % kPack == 0;
  return good;
}

/// Whether addresses are multiples of the widest load.
inline bool aligned(std::initializer_list<Values> all) {
  return std::all_of(all.begin(), all.end(),
                     [](const Values& v) { return reinterpret_cast<std::uintptr_t>(v.data) % 16 == 0; });
}

/// One block per row, whose threads take packs where the rows lie so.
template <int kOperands>
Geometry row_geometry(std::int64_t rows, const Rows<kOperands>& like) {
  return block_per_row(rows, like.width, like.packs ? kPack : 4);
}

/// The rows of operands that share all dimensions but the last of the first one; `has_width` says which have that too.
template <int kOperands>
Rows<kOperands> make_rows(const std::array<Operand, kOperands>& operands) {
  const std::uint32_t leading = operands[0].rank() - 1;
  std::array<Strides, kOperands> strides;
  Rows<kOperands> rows;
  bool packs = true;
  for (std::size_t i = 0; i < kOperands; ++i) {
    strides[i].assign(operands[i].tensor.stride, operands[i].tensor.stride + leading);
    const bool has_width = operands[i].rank() > leading;
    rows.inner[i] = has_width ? operands[i].stride(leading) : 0;
    packs = packs && (!has_width || lies_in_packs(operands[i], leading));
  }
  rows.leading = make_walk<kOperands>({operands[0].tensor.shape, leading}, strides);
  rows.width = operands[0].extent(leading);
  rows.packs = packs && rows.width >= kPack;
  return rows;
}

/// The runs that `operand` holds of dimension `dim`, and how many elements all ranks hold together.
struct Held {
  HeldRuns runs;
  std::int64_t all = 0;
};
/// There are at most HeldRuns::kMost of them: region_score() sees to it.
inline Held make_held(const Operand& operand, std::uint32_t dim) {
  Held held;
  const std::uint32_t count = operand.tensor.run_count[dim];
  held.all = count ? operand.tensor.global_shape[dim] : operand.extent(dim);
  held.runs.count = count ? static_cast<std::int32_t>(count) : 1;
  held.runs.length[0] = operand.extent(dim);
  for (std::uint32_t i = 0; i < count; ++i) {
    const baleen_run_t& run = operand.tensor.runs[dim][i];
    held.runs.local[i] = run.local;
    held.runs.global[i] = run.global;
    held.runs.length[i] = run.length;
  }
  return held;
}

/// The dtype of ids.
inline Status check_id_type(const Source& source, const Operand& ids) {
  if (ids.tensor.dtype == BALEEN_I32) return {};
  return unsupported("ids of dtype " + std::string(dtype_name(ids.tensor.dtype)) + "; ids are int32", source.name());
}

}  // namespace baleen::cuda
