/// \file Memory without a name that several processes map: gone with the last of them, however they end.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "baleen/file_handle.hpp"
#include "baleen/result.hpp"

namespace baleen::shm {

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
  static Result<SharedMemory> map(const FileHandle& file, std::uint64_t bytes);

  std::byte* base() const { return base_; }
  std::uint64_t bytes() const { return bytes_; }
  /// To pass on to peers; -1 for what a peer made.
  int file() const { return file_.get(); }
  bool holds(const void* address) const { return address >= base_ && address < base_ + bytes_; }

 private:
  SharedMemory(std::byte* base, std::uint64_t bytes) : base_(base), bytes_(bytes) {}

  FileHandle file_;
  std::byte* base_ = nullptr;
  std::uint64_t bytes_ = 0;
};

}  // namespace baleen::shm
