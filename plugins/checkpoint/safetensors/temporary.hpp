/// \file A file that is written beside its place and takes it at once.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "baleen/file_handle.hpp"
#include "file.hpp"

namespace baleen::safetensors {

/// A file that vanishes unless it is renamed to its place. Errors name the file, how many bytes, and where in it.
class Temporary {
 public:
  static Result<Temporary> beside(const std::string& path);
  Temporary(Temporary&& other) noexcept
      : path_(std::exchange(other.path_, {})),
        file_(std::move(other.file_)),
        begun_(other.begun_),
        ended_(other.ended_) {}
  ~Temporary() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }

  /// Takes that much of the disk at once, where the file system can, so that what does not fit is known before it is
  /// written.
  Status reserve(std::uint64_t bytes);
  Status write(std::uint64_t at, std::span<const std::byte> bytes);
  /// All before this byte is written and will not change: once enough has come together the disk begins with it, and
  /// one that is far behind is waited for, so that little is left to do when it is synced.
  Status written_up_to(std::uint64_t end);
  /// Synced before, and its folder after.
  Status rename_to(const std::string& target);

 private:
  Temporary() = default;
  Status sync_range(std::uint64_t begin, std::uint64_t end, unsigned flags);

  std::string path_;
  FileHandle file_;
  std::uint64_t begun_ = 0, ended_ = 0;  ///< bytes of which the disk was told, and has done
};

/// What was renamed or made in a folder is there after a power cut.
Status sync_folder(const std::string& folder);

}  // namespace baleen::safetensors
