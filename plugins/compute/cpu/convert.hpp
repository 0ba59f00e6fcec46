/// \file Elements of one dtype read as, or written from, the type that computes.
#pragma once
#include <cmath>
#include <cstdint>

#include "baleen/dtype.hpp"
#include "isa/routines.hpp"

namespace baleen::cpu {

/// How elements of a floating dtype are stored beside the type that computes with them.
constexpr Storage storage_of(baleen_dtype_t dtype) {
  switch (dtype) {
    case BALEEN_BF16: return Storage::kBf16;
    case BALEEN_F16: return Storage::kFp16;
    case BALEEN_E4M3: return Storage::kE4m3;
    case BALEEN_E5M2: return Storage::kE5m2;
    default: return Storage::kOwn;
  }
}

/// `count` elements, `stride` apart, of dtype `dtype` to a packed row of T.
template <class T>
void load_row(const RoutinesOf<T>& routines, T* out, const void* in, baleen_dtype_t dtype, std::int64_t stride,
              std::int64_t count);

/// A packed row of T to `count` elements `stride` apart, rounded to nearest even. Of integers the nearest that there
/// is.
template <class T>
void store_row(const RoutinesOf<T>& routines, void* out, const T* in, baleen_dtype_t dtype, std::int64_t stride,
               std::int64_t count);

/// Each element rounded to `dtype` and widened again; in place is fine.
template <class T>
void round_row(const RoutinesOf<T>& routines, T* out, const T* in, baleen_dtype_t dtype, std::int64_t count);

}  // namespace baleen::cpu
