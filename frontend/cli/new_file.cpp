/// \file System calls about a new file.
#include "frontend/cli/new_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace baleen::app {
namespace {

constexpr std::size_t kBlock = std::size_t{1} << 16;

std::filesystem::path folder_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

}  // namespace

NewFile::NewFile(NewFile&& other) noexcept
    : path_(std::move(other.path_)),
      beside_(std::move(other.beside_)),
      is_named_(std::exchange(other.is_named_, false)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      waiting_(std::move(other.waiting_)) {}

NewFile::~NewFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (is_named_) ::unlink(beside_.c_str());
}

Error NewFile::failed(const char* what) const {
  return {BALEEN_IO, std::string(what) + ": " + std::strerror(errno), path_.string()};
}

Result<NewFile> NewFile::create(const std::filesystem::path& path) {
  NewFile file;
  file.path_ = path;
  struct stat known = {};
  if (::stat(path.c_str(), &known) == 0 && !S_ISREG(known.st_mode)) {
    file.descriptor_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (file.descriptor_ < 0) return file.failed("cannot be written");
    return file;
  }
  file.beside_ = folder_of(path) / ("." + path.filename().string() + ".partial-" + std::to_string(::getpid()));
  file.descriptor_ = ::open(folder_of(path).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  if (file.descriptor_ < 0) {
    file.descriptor_ = ::open(file.beside_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file.descriptor_ < 0) return file.failed("cannot be written");
    file.is_named_ = true;
  }
  return file;
}

Status NewFile::flush() {
  for (std::string_view rest = waiting_; !rest.empty();) {
    const ssize_t written = ::write(descriptor_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return failed("cannot be written");
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  waiting_.clear();
  return {};
}

Status NewFile::write(std::string_view text) {
  waiting_.append(text);
  return waiting_.size() < kBlock ? Status() : flush();
}

Status NewFile::finish() {
  BALEEN_TRY(flush());
  if (beside_.empty()) return {};
  if (::fsync(descriptor_) != 0) return failed("cannot be synced");
  if (!is_named_) {
    ::unlink(beside_.c_str());  // of an earlier process of this number
    const std::string own = "/proc/self/fd/" + std::to_string(descriptor_);
    if (::linkat(AT_FDCWD, own.c_str(), AT_FDCWD, beside_.c_str(), AT_SYMLINK_FOLLOW) != 0)
      return failed("cannot be named");
    is_named_ = true;
  }
  if (::rename(beside_.c_str(), path_.c_str()) != 0) return failed("cannot be replaced");
  is_named_ = false;
  return {};
}

}  // namespace baleen::app
