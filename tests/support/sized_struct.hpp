/// \file A struct of the ABI as an older side has it: smaller, and with memory of others behind it.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace baleen::test {

/// Says that it has `size` bytes. What it has in truth is filled with one byte, which shows what is written.
template <class T>
class SizedStruct {
 public:
  explicit SizedStruct(std::uint64_t size) {
    bytes_.fill(kFilled);
    std::memcpy(bytes_.data(), &size, sizeof size);
  }
  T* get() { return reinterpret_cast<T*>(bytes_.data()); }
  /// Whether nothing was written from byte `size` on.
  bool is_whole_behind(std::uint64_t size) const {
    return std::all_of(bytes_.begin() + static_cast<std::ptrdiff_t>(size), bytes_.end(),
                       [](unsigned char byte) { return byte == kFilled; });
  }

 private:
  static constexpr unsigned char kFilled = 0xab;
  alignas(std::max_align_t) std::array<unsigned char, sizeof(T) + 64> bytes_;
};

}  // namespace baleen::test
