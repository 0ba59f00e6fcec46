/// \file A file descriptor that is closed with its owner.
#pragma once
#include <unistd.h>

#include <utility>

namespace baleen::launchers {

class FileHandle {
 public:
  FileHandle() = default;
  explicit FileHandle(int number) : number_(number) {}
  FileHandle(FileHandle&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  FileHandle& operator=(FileHandle&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~FileHandle() { close(); }

  /// -1: none.
  int get() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }
  void close() {
    if (number_ >= 0) ::close(std::exchange(number_, -1));
  }

 private:
  int number_ = -1;
};

}  // namespace baleen::launchers
