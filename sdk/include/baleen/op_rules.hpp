/// \file Checks that shape rules of several kinds share. `kind` begins the message: the kind's name, or what says more.
#pragma once
#include <algorithm>
#include <optional>

#include "baleen/op_types.hpp"
#include "baleen/result.hpp"

namespace baleen::sdk {

/// An operand's name for messages, with its type.
struct Named {
  std::string name;
  const ValueType& type;
  bool may_be_fp8 = false;
};

/// What to do about int64, the dtype of ids that are hashes: as floats and as row numbers they would lose bits.
inline std::string remedy_of(baleen_dtype_t dtype) {
  return dtype == BALEEN_I64 ? " (int64 values are ids: `hash_bucket` makes rows of them, int32)" : "";
}

/// Floating, with 8 bits only where it says so. fp64 meets fp64 only; others may meet, and are computed with in fp32.
inline Status check_floats(const std::string& kind, const std::vector<Named>& operands) {
  for (const Named& operand : operands) {
    if (!is_floating(operand.type.dtype))
      return invalid(kind + ": " + operand.name + " is " + type_text(operand.type) + "; it must be floating" +
                     remedy_of(operand.type.dtype));
    if (is_fp8(operand.type.dtype) && !operand.may_be_fp8)
      return invalid(kind + ": " + operand.name + " is " + type_text(operand.type) +
                     "; 8 bits are for the operands of matmul, so cast it first");
    if ((operand.type.dtype == BALEEN_F64) != (operands[0].type.dtype == BALEEN_F64))
      return invalid(kind + ": " + operands[0].name + " is " + type_text(operands[0].type) + " and " + operand.name +
                     " is " + type_text(operand.type) + "; fp64 meets fp64 only");
  }
  return {};
}

inline Status check_ids(const std::string& kind, const Named& operand) {
  if (operand.type.dtype == BALEEN_I32) return {};
  return invalid(kind + ": " + operand.name + " is " + type_text(operand.type) + "; it must be int32" +
                 remedy_of(operand.type.dtype));
}

inline Status check_rank(const std::string& kind, const Named& operand, std::size_t rank) {
  if (operand.type.shape.size() == rank) return {};
  return invalid(kind + ": " + operand.name + " " + shape_text(operand.type.shape) + " must have " +
                 std::to_string(rank) + " dimensions, not " + std::to_string(operand.type.shape.size()));
}

/// At least `rank` dimensions.
inline Status check_least_rank(const std::string& kind, const Named& operand, std::size_t rank) {
  if (operand.type.shape.size() >= rank) return {};
  return invalid(kind + ": " + operand.name + " " + shape_text(operand.type.shape) + " must have at least " +
                 std::to_string(rank) + (rank == 1 ? " dimension" : " dimensions"));
}

/// The operand has the shape that `because` (another operand's) calls for.
inline Status check_shape(const std::string& kind, const Named& operand, const std::vector<std::int64_t>& expected,
                          const Named& because) {
  if (operand.type.shape == expected) return {};
  return invalid(kind + ": " + operand.name + " is " + shape_text(operand.type.shape) + "; with " + because.name + " " +
                 shape_text(because.type.shape) + " it must be " + shape_text(expected));
}

/// 0 <= dim < rank.
inline Status check_dim(const std::string& kind, const std::string& attribute, std::int64_t dim, const Named& operand) {
  if (dim >= 0 && dim < static_cast<std::int64_t>(operand.type.shape.size())) return {};
  return invalid(kind + ": `" + attribute + "` is " + std::to_string(dim) + ", but " + operand.name + " " +
                 shape_text(operand.type.shape) + " has " + std::to_string(operand.type.shape.size()) +
                 " dimensions, counted from 0");
}

/// The most elements of a tensor: 64 bits count its bytes, and those of some of them together.
inline constexpr std::int64_t kMostElements = std::int64_t{1} << 56;

/// For shapes that are not an operand's: no negative extent, at most BALEEN_MAX_RANK of them, at most kMostElements.
inline Status check_extents(const std::string& kind, const std::vector<std::int64_t>& shape) {
  if (shape.size() > BALEEN_MAX_RANK)
    return invalid(kind + ": " + shape_text(shape) + " has " + std::to_string(shape.size()) +
                   " dimensions; a tensor has at most " + std::to_string(BALEEN_MAX_RANK));
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) {
    if (extent < 0) return invalid(kind + ": " + shape_text(shape) + " has a negative extent");
    if (__builtin_mul_overflow(count, std::max<std::int64_t>(extent, 1), &count) || count > kMostElements)
      return invalid(kind + ": " + shape_text(shape) + " has more elements than can be counted");
  }
  return {};
}

/// The widest floating dtype; halves of two kinds meet in fp32, and so do 8 bits. Nothing where none is floating.
inline std::optional<baleen_dtype_t> widest(std::span<const baleen_dtype_t> dtypes) {
  std::optional<baleen_dtype_t> best;
  for (const baleen_dtype_t dtype : dtypes) {
    if (!is_floating(dtype) || dtype == best) continue;
    if (!best || dtype_size(dtype) > dtype_size(*best))
      best = dtype;
    else if (dtype_size(dtype) == dtype_size(*best))
      best = BALEEN_F32;
  }
  return best && is_fp8(*best) ? BALEEN_F32 : best;
}

inline std::optional<baleen_dtype_t> widest(std::span<const ValueType> types) {
  std::vector<baleen_dtype_t> dtypes;
  for (const ValueType& type : types) dtypes.push_back(type.dtype);
  return widest(dtypes);
}

/// The attribute `dtype` of typed kinds, where it is given, which is one floating dtype; else `fallback`.
inline Result<baleen_dtype_t> chosen_dtype(const std::string& kind, std::optional<std::int64_t> given,
                                           baleen_dtype_t fallback) {
  if (!given) return fallback;
  const auto dtype = static_cast<baleen_dtype_t>(*given);
  if (!is_floating(dtype)) return invalid(kind + ": `dtype` is " + std::to_string(dtype) + ", no floating dtype");
  if (is_fp8(dtype))
    return invalid(kind + ": `dtype` is " + std::string(dtype_name(dtype)) + "; 8 bits are made by a cast alone");
  if ((dtype == BALEEN_F64) != (fallback == BALEEN_F64))
    return invalid(kind + ": `dtype` is " + std::string(dtype_name(dtype)) + " and it computes in " +
                   std::string(dtype_name(fallback)) + "; fp64 meets fp64 only");
  return dtype;
}

}  // namespace baleen::sdk
