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

/// By which the system gives a file without a name one.
std::string descriptor_path(const FileHandle& file) { return "/proc/self/fd/" + std::to_string(file.get()); }

}  // namespace

NewFile::NewFile(NewFile&& other) noexcept
    : path_(std::move(other.path_)),
      beside_(std::exchange(other.beside_, {})),
      nameless_(other.nameless_),
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
    if (file.open_nameless(path.has_parent_path() ? path.parent_path() : ".")) return file;
    const std::filesystem::path beside = sdk::partial_of(path);
    file.file_ = FileHandle(::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (file.file_) file.beside_ = beside;
  }
  if (!file.file_) return file.failed("cannot be written");
  return file;
}

bool NewFile::open_nameless(const std::filesystem::path& folder) {
  file_ = FileHandle(::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666));
  nameless_ = file_ && ::access(descriptor_path(file_).c_str(), F_OK) == 0;
  if (!nameless_) file_.close();
  return nameless_;
}

Status NewFile::name_it() {
  const std::filesystem::path beside = sdk::partial_of(path_);
  ::unlink(beside.c_str());
  if (::linkat(AT_FDCWD, descriptor_path(file_).c_str(), AT_FDCWD, beside.c_str(), AT_SYMLINK_FOLLOW) != 0)
    return failed("cannot be given its name");
  beside_ = beside;
  return {};
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
  if (beside_.empty() && !nameless_) return {};
  if (::fsync(file_.get()) != 0) return failed("cannot be synced");
  if (nameless_) BALEEN_TRY(name_it());
  if (::rename(beside_.c_str(), path_.c_str()) != 0) return failed("cannot be replaced");
  beside_.clear();
  return {};
}

}  // namespace baleen::app
