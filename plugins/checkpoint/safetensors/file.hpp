/// \file What reader and writer share: an owned descriptor, and errors of system calls.
#pragma once
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "baleen/result.hpp"

namespace baleen::safetensors {

/// Owns a file descriptor.
class File {
 public:
  explicit File(int number = -1) : number_(number) {}
  File(File&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  File& operator=(File&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~File() {
    if (number_ >= 0) ::close(number_);
  }

  explicit operator bool() const { return number_ >= 0; }
  int number() const { return number_; }
  int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

/// An Error from errno.
inline Error system_error(const std::string& what, const std::string& path) {
  const int reason = errno;
  const bool missing = reason == ENOENT || reason == ENOTDIR;
  return {missing ? BALEEN_NOT_FOUND : BALEEN_IO, what + ": " + std::strerror(reason), path};
}

}  // namespace baleen::safetensors
