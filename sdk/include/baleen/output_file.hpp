/// \file A file that a monitor appends to while the run goes on, so that a crashed run keeps what was written.
#pragma once
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "baleen/result.hpp"

namespace baleen::sdk {

/// Movable owner of an open file. Nothing is buffered here: each `write` has reached the system when it returns.
class OutputFile {
 public:
  /// Opens `path` (relative to `folder`) for writing and creates it, but keeps old contents until `restart`: so every
  /// rank may find out early whether the path is good, and one of them writes.
  static Result<OutputFile> open(std::string_view path, std::string_view folder) {
    OutputFile file;
    file.path_ = (std::filesystem::path(folder) / path).lexically_normal().string();
    // A pipe's reader may just be starting; one that does not come is not waited for without end.
    for (int tries = 0; tries < 20; ++tries) {
      file.descriptor_ = ::open(file.path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
      if (file.descriptor_ >= 0 || errno != ENXIO) break;
      ::usleep(100'000);
    }
    if (file.descriptor_ < 0 && errno == ENXIO)
      return Error{BALEEN_IO, "nobody reads this pipe; start its reader first, or name a file", file.path_};
    if (file.descriptor_ < 0) return file.failed("cannot open for writing");
    const int flags = ::fcntl(file.descriptor_, F_GETFL);
    if (flags < 0 || ::fcntl(file.descriptor_, F_SETFL, flags & ~O_NONBLOCK) != 0)
      return file.failed("cannot open for writing");
    return file;
  }
  OutputFile() = default;
  OutputFile(OutputFile&& other) noexcept
      : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}
  OutputFile& operator=(OutputFile&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~OutputFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  const std::string& path() const { return path_; }

  /// Empties the file. What is no regular file (a pipe, /dev/stderr) stays as it is.
  Status restart() {
    if (::ftruncate(descriptor_, 0) != 0 && errno != EINVAL) return failed("cannot empty");
    return {};
  }

  /// All of the text, or none: after a failure a regular file ends where it did before, so its last record is whole.
  Status write(std::string_view text) {
    const off_t before = ::lseek(descriptor_, 0, SEEK_CUR);
    while (!text.empty()) {
      const ssize_t written = ::write(descriptor_, text.data(), text.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) {
        const Error error = failed("cannot write");
        if (before >= 0 && ::ftruncate(descriptor_, before) == 0) (void)::lseek(descriptor_, before, SEEK_SET);
        return error;
      }
      text.remove_prefix(static_cast<std::size_t>(written));
    }
    return {};
  }

  /// Has what was written reach the disk, whose errors no later call tells. What is no regular file has none.
  Status sync() {
    if (::fsync(descriptor_) != 0 && errno != EINVAL && errno != ENOTSUP) return failed("cannot be synced");
    return {};
  }

 private:
  Error failed(const char* what) const { return {BALEEN_IO, std::string(what) + ": " + std::strerror(errno), path_}; }

  std::string path_;
  int descriptor_ = -1;
};

}  // namespace baleen::sdk
