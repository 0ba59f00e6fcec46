/// \file A file that is written beside its place and takes it at once.
#pragma once
#include <span>
#include <string>
#include <utility>

#include "file.hpp"

namespace baleen::safetensors {

/// A file that vanishes unless it is renamed to its place.
class Temporary {
 public:
  static Result<Temporary> beside(const std::string& path);
  Temporary(Temporary&& other) noexcept : path_(std::exchange(other.path_, {})), file_(std::move(other.file_)) {}
  ~Temporary() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }

  Status write(std::span<const std::byte> bytes);
  /// Synced before, and its folder after.
  Status rename_to(const std::string& target);

 private:
  Temporary() = default;

  std::string path_;
  File file_;
};

/// What was renamed or made in a folder is there after a power cut.
Status sync_folder(const std::string& folder);

}  // namespace baleen::safetensors
