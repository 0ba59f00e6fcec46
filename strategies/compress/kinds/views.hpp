/// \file Rows of fp32 and of words, wherever they lie, in kernels of the kinds here.
#pragma once
#include <cstdint>

#include "baleen/op_kind.hpp"

namespace baleen::compress {

/// A matrix in memory, of any strides.
template <class Element>
struct Matrix {
  Element* first;
  std::int64_t rows, columns, row_step, column_step;

  Matrix(const void* at, const baleen_tensor_t& tensor)
      : first(static_cast<Element*>(const_cast<void*>(at))),
        rows(tensor.shape[0]),
        columns(tensor.shape[1]),
        row_step(tensor.stride[0]),
        column_step(tensor.stride[1]) {}
  Element& at(std::int64_t row, std::int64_t column) const { return first[row * row_step + column * column_step]; }
};

/// How a row of `columns` elements is laid out in words of 32 bits: block by block, a header in front of its elements.
struct Format {
  std::int64_t bits;     ///< of an element: 8 or 1
  std::int64_t block;    ///< elements that share a header; a multiple of 32; the last block may be short
  std::int64_t columns;  ///< elements of a row

  std::int64_t header() const { return bits == 8 ? 2 : 1; }
  std::int64_t per_word() const { return 32 / bits; }
  std::int64_t blocks() const { return (columns + block - 1) / block; }
  std::int64_t words_of(std::int64_t elements) const { return (elements + per_word() - 1) / per_word(); }
  std::int64_t words() const { return blocks() * header() + words_of(columns); }
  std::int64_t first_word(std::int64_t number) const { return number * (header() + words_of(block)); }
  std::int64_t length(std::int64_t number) const {
    return columns - number * block < block ? columns - number * block : block;
  }
};

/// A matrix of fp32 or of words; anything else is refused.
inline Status check_matrix(const std::string& kind, const std::string& name, const sdk::ValueType& type,
                           baleen_dtype_t dtype) {
  if (type.shape.size() == 2 && type.dtype == dtype) return {};
  return invalid(kind + ": " + name + " is " + sdk::type_text(type) + "; it must be a matrix of " +
                 std::string(dtype_name(dtype)));
}

}  // namespace baleen::compress
