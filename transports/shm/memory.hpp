/// \file Memory without a name that several processes map: gone with the last of them, however they end.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "baleen/result.hpp"

namespace baleen::shm {

/// A file descriptor that is closed with it.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor();
  int get() const { return number_; }

 private:
  int number_;
};

/// A mapped memfd, zeroed, its pages taken from the system at once: what does not fit is refused here, not by a signal
/// later.
class SharedMemory {
 public:
  SharedMemory() = default;
  SharedMemory(SharedMemory&& other) noexcept
      : file_(std::move(other.file_)), base_(std::exchange(other.base_, nullptr)), bytes_(other.bytes_) {}
  SharedMemory& operator=(SharedMemory&& other) noexcept {
    std::swap(file_, other.file_);
    std::swap(base_, other.base_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~SharedMemory();

  /// `what` it is for, in the message of a failure: "an arena".
  static Result<SharedMemory> create(std::uint64_t bytes, const std::string& what);
  /// Maps what a peer made.
  static Result<SharedMemory> map(const Descriptor& file, std::uint64_t bytes);

  std::byte* base() const { return base_; }
  std::uint64_t bytes() const { return bytes_; }
  /// To pass on to peers; -1 for what a peer made.
  int file() const { return file_.get(); }
  bool holds(const void* address) const { return address >= base_ && address < base_ + bytes_; }

 private:
  SharedMemory(std::byte* base, std::uint64_t bytes) : base_(base), bytes_(bytes) {}

  Descriptor file_;
  std::byte* base_ = nullptr;
  std::uint64_t bytes_ = 0;
};

}  // namespace baleen::shm
