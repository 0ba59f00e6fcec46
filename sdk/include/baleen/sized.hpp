/// \file Structs that begin with their size (base.h): neither side touches what the other does not know of.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include "baleen/result.hpp"

namespace baleen {

namespace detail {

template <class T>
constexpr void check_sized() {
  static_assert(std::is_trivially_copyable_v<T> && std::is_standard_layout_v<T>);
  static_assert(offsetof(T, size) == 0 && std::is_same_v<decltype(T::size), std::uint64_t>);
}

}  // namespace detail

/// Copies `value` to a struct of the other side, whose `size` says how much of it there is, and sets `size` to what was
/// written. False, and nothing written, where the other side has not set `size`.
template <class T>
bool copy_out(T* out, T value) {
  detail::check_sized<T>();
  if (out->size < sizeof(out->size)) return false;
  value.size = std::min<std::uint64_t>(out->size, sizeof(T));
  std::memcpy(static_cast<void*>(out), &value, value.size);
  return true;
}

/// A copy of a struct of the other side: what lies past its `size` is zero. `size` is what was read: 0 where the other
/// side has not set it.
template <class T>
T copy_in(const T* in) {
  detail::check_sized<T>();
  T value{};
  if (in->size < sizeof(in->size)) return value;
  const std::uint64_t known = std::min<std::uint64_t>(in->size, sizeof(T));
  std::memcpy(static_cast<void*>(&value), in, known);
  value.size = known;
  return value;
}

/// For a struct whose `size` was not set.
inline Error no_size(const std::string& what) {
  return invalid(what + ": the struct's `size` is not set; set it to sizeof the struct before the call");
}

/// An element of an array whose elements begin with their size: the first one's size is the distance between them.
template <class T>
const T& element(const T* first, std::uint64_t number) {
  detail::check_sized<T>();
  return *reinterpret_cast<const T*>(reinterpret_cast<const std::byte*>(first) + number * first->size);
}
template <class T>
T& element(T* first, std::uint64_t number) {
  return const_cast<T&>(element(static_cast<const T*>(first), number));
}

}  // namespace baleen
