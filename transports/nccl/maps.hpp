/// \file Dtypes and reductions of the SDK in NCCL's numbers, and which reductions NCCL carries out as the SDK promises.
#pragma once
#include <optional>
#include <string>

#include "baleen/collective.hpp"
#include "nccl.hpp"

namespace baleen::nccl {

/// Nothing for a dtype that NCCL lacks. 8-bit floats are moved alone (collective.hpp), as bytes, since not every NCCL
/// has them.
constexpr std::optional<DataType> data_type(baleen_dtype_t dtype) {
  switch (dtype) {
    case BALEEN_F64: return kFloat64;
    case BALEEN_F32: return kFloat32;
    case BALEEN_F16: return kFloat16;
    case BALEEN_BF16: return kBfloat16;
    case BALEEN_I64: return kInt64;
    case BALEEN_I32: return kInt32;
    case BALEEN_E4M3:
    case BALEEN_E5M2:
    case BALEEN_U8: return kUint8;
    default: return std::nullopt;
  }
}

/// Nothing for a reduction that NCCL lacks.
constexpr std::optional<RedOp> red_op(baleen_reduction_t reduction) {
  switch (reduction) {
    case BALEEN_SUM: return kSum;
    case BALEEN_MAXIMUM: return kMax;
    default: return std::nullopt;
  }
}

/// Whether NCCL's own reduction gives the bits that transport.h promises: integers in any order, and the sum of two
/// numbers, whichever comes first (a 16-bit sum of two is rounded once either way). A longer sum has an order of its
/// own in NCCL, and its maximum of floating numbers drops a NaN (fmaxf).
constexpr bool keeps_promise(baleen_dtype_t dtype, baleen_reduction_t reduction, std::size_t members) {
  if (!is_floating(dtype) || members == 1) return true;
  return reduction == BALEEN_SUM && members == 2;
}

}  // namespace baleen::nccl
