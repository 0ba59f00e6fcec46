/// \file A file descriptor that is closed with its owner.
#pragma once
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace baleen {

/// Movable owner of what open, socket, eventfd or memfd_create returned.
class FileHandle {
 public:
  FileHandle() = default;
  /// Takes `number` over; what is below 0, as a failed call returns it, is nothing to own.
  explicit FileHandle(int number) : number_(number) {}
  FileHandle(FileHandle&& other) noexcept : number_(other.release()) {}
  FileHandle& operator=(FileHandle&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~FileHandle() { close(); }

  /// -1: none.
  int get() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }
  /// Gives the descriptor away; this owns nothing afterwards.
  int release() { return std::exchange(number_, -1); }
  void close() {
    if (number_ >= 0) ::close(release());
  }

 private:
  int number_ = -1;
};

/// The descriptor that a call has just returned. Throws std::system_error with `what` where it failed, by errno.
inline FileHandle made_file(int number, const char* what) {
  if (number < 0) throw std::system_error(errno, std::generic_category(), what);
  return FileHandle(number);
}

}  // namespace baleen
