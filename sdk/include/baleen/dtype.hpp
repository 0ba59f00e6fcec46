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
    case BALEEN_U8:
    case BALEEN_E4M3:
    case BALEEN_E5M2: return 1;
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
    case BALEEN_E4M3: return "fp8_e4m3";
    case BALEEN_E5M2: return "fp8_e5m2";
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
    case BALEEN_E4M3: return 4;
    case BALEEN_E5M2: return 3;
    default: return 0;
  }
}

constexpr bool is_fp8(baleen_dtype_t dtype) { return dtype == BALEEN_E4M3 || dtype == BALEEN_E5M2; }

constexpr bool is_floating(baleen_dtype_t dtype) {
  return (dtype >= BALEEN_F32 && dtype <= BALEEN_BF16) || is_fp8(dtype);
}

}  // namespace baleen
