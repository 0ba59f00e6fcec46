/// \file Elements of one dtype read as, or written from, the type that computes.
#pragma once
#include <cmath>
#include <cstdint>

#include "baleen/dtype.hpp"

namespace baleen::cpu {

/// `count` elements, `stride` apart, of dtype `dtype` to a packed row of T.
template <class T>
void load_row(T* out, const void* in, baleen_dtype_t dtype, std::int64_t stride, std::int64_t count);

/// A packed row of T to `count` elements `stride` apart. Integers are rounded to the nearest, ties to even.
template <class T>
void store_row(void* out, const T* in, baleen_dtype_t dtype, std::int64_t stride, std::int64_t count);

/// Each element rounded to `dtype` and widened again; in place is fine.
template <class T>
void round_row(T* out, const T* in, baleen_dtype_t dtype, std::int64_t count);

}  // namespace baleen::cpu
