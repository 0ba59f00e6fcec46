/// \file What targets say of what was read.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace baleen::fuzz {

inline void require(bool holds) {
  if (!holds) __builtin_trap();
}

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace baleen::fuzz
