/// \file What rules of op kinds tell each other and the compiler: types, letters, costs.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "baleen/dtype.hpp"

namespace baleen::sdk {

/// The type of an operand or result: of the whole batch on the whole mesh.
struct ValueType {
  baleen_dtype_t dtype = BALEEN_F32;
  std::vector<std::int64_t> shape;
  std::vector<std::string> axes = {};  ///< logical axis per dimension; empty: none
};

using Types = std::vector<ValueType>;

/// A letter per dimension of every operand and result: equal letters run together. '.' is a dimension that may not be
/// cut. The extents behind one letter may differ (grouped heads, a reshape's merged dimension): a cut divides each.
struct Iteration {
  std::vector<std::string> inputs, outputs;
  /// Sets of operands in which the op is jointly linear: sums over ranks pass through them.
  std::vector<std::vector<std::uint32_t>> linear = {};
  /// A letter that lacks in a result and does not make it partial, since the op reduces small intermediates itself (a
  /// norm's statistics).
  struct Internal {
    char letter;
    std::string over;  ///< letters of the reduced intermediates
    int count;         ///< how many there are
  };
  std::vector<Internal> internal = {};
};

/// Per execution: a multiply-add is two operations; bytes read and written at least.
struct Cost {
  double flops = 0, bytes = 0;
};

/// "[16, 128]".
inline std::string shape_text(std::span<const std::int64_t> shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

/// "fp32 [16, 128]".
inline std::string type_text(const ValueType& type) {
  return std::string(dtype_name(type.dtype)) + " " + shape_text(type.shape);
}

/// The logical axis of a dimension, "" if none.
inline std::string axis(const ValueType& type, std::size_t dim) {
  return dim < type.axes.size() ? type.axes[dim] : std::string();
}

/// The type without its last dimension.
inline ValueType without_last(ValueType type) {
  type.shape.pop_back();
  type.axes.resize(type.shape.size());
  return type;
}

inline ValueType same_but(ValueType type, baleen_dtype_t dtype) {
  type.dtype = dtype;
  return type;
}

/// Elements of a shape; 1 for no dimensions.
inline std::int64_t elements(std::span<const std::int64_t> shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  return count;
}

/// "abc…", one letter per dimension, from `first` on.
inline std::string letters(std::size_t count, char first = 'a') {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += static_cast<char>(first + static_cast<char>(i));
  return text;
}

/// In what statistics and sums are kept: fp32 of 16 bits, else the dtype itself.
constexpr baleen_dtype_t wide(baleen_dtype_t dtype) { return dtype == BALEEN_F64 ? BALEEN_F64 : BALEEN_F32; }

}  // namespace baleen::sdk
