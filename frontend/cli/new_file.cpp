/// \file System calls about a new file.
#include "frontend/cli/new_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "baleen/process_mark.hpp"

namespace baleen::app {
namespace {

constexpr std::size_t kBlock = std::size_t{1} << 16;

}  // namespace

NewFile::NewFile(NewFile&& other) noexcept
    : path_(std::move(other.path_)),
      beside_(std::exchange(other.beside_, {})),
      file_(std::move(other.file_)),
      waiting_(std::move(other.waiting_)) {}

NewFile::~NewFile() {
  if (!beside_.empty()) ::unlink(beside_.c_str());
}

Error NewFile::failed(const char* what) const {
  return {BALEEN_IO, std::string(what) + ": " + std::strerror(errno), path_.string()};
}

Result<NewFile> NewFile::create(const std::filesystem::path& path) {
  NewFile file;
  file.path_ = path;
  struct stat known = {};
  const bool in_place = ::stat(path.c_str(), &known) == 0 && !S_ISREG(known.st_mode);
  if (in_place) {
    file.file_ = FileHandle(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  } else {
    sdk::remove_left_partials(path);
    const std::filesystem::path beside = sdk::partial_of(path);
    file.file_ = FileHandle(::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (file.file_) file.beside_ = beside;
  }
  if (!file.file_) return file.failed("cannot be written");
  return file;
}

Status NewFile::flush() {
  for (std::string_view rest = waiting_; !rest.empty();) {
    const ssize_t written = ::write(file_.get(), rest.data(), rest.size());
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
  if (::fsync(file_.get()) != 0) return failed("cannot be synced");
  if (::rename(beside_.c_str(), path_.c_str()) != 0) return failed("cannot be replaced");
  beside_.clear();
  return {};
}

}  // namespace baleen::app
