/// \file The bytes of one file, read-only: mapped, or, where it is small, copied (a folder may hold more files than a
/// process may have mappings).
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "baleen/result.hpp"

namespace baleen::text {

/// Movable owner. The file must not shrink while it is open.
class FileBytes {
 public:
  /// Fails, naming the path, where it is missing, unreadable or not a regular file.
  static Result<FileBytes> open(const std::string& path);

  FileBytes() = default;
  FileBytes(FileBytes&& other) noexcept;
  FileBytes& operator=(FileBytes&& other) noexcept;
  ~FileBytes();

  std::span<const std::byte> bytes() const { return mapped_ ? std::span(mapped_, size_) : std::span(copied_); }
  std::string_view text() const { return {reinterpret_cast<const char*>(bytes().data()), bytes().size()}; }

 private:
  const std::byte* mapped_ = nullptr;
  std::size_t size_ = 0;
  std::vector<std::byte> copied_;
};

}  // namespace baleen::text
