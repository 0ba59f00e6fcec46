/// \file A line of text that a handler of signals may put together and write.
#pragma once
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace baleen {

/// Takes no memory and no lock. What does not fit is cut off.
class SignalSafeLine {
 public:
  SignalSafeLine& operator<<(std::string_view text) {
    const std::size_t bytes = std::min(text.size(), text_.size() - size_);
    std::memcpy(text_.data() + size_, text.data(), bytes);
    size_ += bytes;
    return *this;
  }
  /// In base 10, or in base 16 with "0x" before it.
  SignalSafeLine& number(std::uint64_t value, unsigned base = 10) {
    return *this << (base == 16 ? "0x" : ""), digits(value, base);
  }
  SignalSafeLine& digits(std::uint64_t value, unsigned base) {
    std::array<char, 20> all;
    std::size_t at = all.size();
    do {
      all[--at] = "0123456789abcdef"[value % base];
      value /= base;
    } while (value > 0);
    return *this << std::string_view(all.data() + at, all.size() - at);
  }
  void write_to(int file) const {
    for (std::size_t done = 0; done < size_;) {
      const ssize_t more = write(file, text_.data() + done, size_ - done);
      if (more <= 0) return;
      done += static_cast<std::size_t>(more);
    }
  }

 private:
  std::array<char, 4096> text_;
  std::size_t size_ = 0;
};

}  // namespace baleen
