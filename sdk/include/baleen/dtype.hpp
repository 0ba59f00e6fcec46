/// \file Sizes, names and classes of dtypes.
#pragma once
#include <cstddef>
#include <string_view>

#include "baleen/base.h"

namespace baleen {

/// Bytes of one element; 0 for a number that is no dtype.
constexpr std::size_t dtype_size(baleen_dtype_t dtype) {
  switch (dtype) {
    case BALEEN_F64:
    case BALEEN_I64: return 8;
    case BALEEN_F32:
    case BALEEN_I32: return 4;
    case BALEEN_F16:
    case BALEEN_BF16: return 2;
    case BALEEN_U8: return 1;
    default: return 0;
  }
}

constexpr std::string_view dtype_name(baleen_dtype_t dtype) {
  switch (dtype) {
    case BALEEN_F32: return "fp32";
    case BALEEN_F64: return "fp64";
    case BALEEN_F16: return "fp16";
    case BALEEN_BF16: return "bf16";
    case BALEEN_I32: return "int32";
    case BALEEN_I64: return "int64";
    case BALEEN_U8: return "uint8";
    default: return "?";
  }
}

/// Binary digits of a floating dtype's numbers, the leading one counted; 0 for others.
constexpr int dtype_digits(baleen_dtype_t dtype) {
  switch (dtype) {
    case BALEEN_F64: return 53;
    case BALEEN_F32: return 24;
    case BALEEN_F16: return 11;
    case BALEEN_BF16: return 8;
    default: return 0;
  }
}

constexpr bool is_floating(baleen_dtype_t dtype) { return dtype >= BALEEN_F32 && dtype <= BALEEN_BF16; }

}  // namespace baleen
