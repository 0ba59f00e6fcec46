/// \file System calls about a new file.
#include "frontend/cli/new_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

#include "baleen/process_mark.hpp"
#include "core/input/links.hpp"

namespace baleen::app {
namespace {

constexpr std::size_t kBlock = std::size_t{1} << 16;

/// By which the system gives a file without a name one.
std::string descriptor_path(const FileHandle& file) { return "/proc/self/fd/" + std::to_string(file.get()); }

/// Of a process's open file, as `/proc/self/fd/1`: this process's own goes on where it stands, that of another at its
/// end.
FileHandle open_again(const std::filesystem::path& path) {
  std::error_code failure;
  const std::filesystem::path folder = std::filesystem::canonical(path.parent_path(), failure);
  const std::string name = path.filename().string();
  int number = -1;
  const auto [end, code] = std::from_chars(name.data(), name.data() + name.size(), number);
  const bool is_own = folder == std::filesystem::path("/proc") / std::to_string(::getpid()) / "fd";
  if (is_own && code == std::errc() && end == name.data() + name.size())
    return FileHandle(::fcntl(number, F_DUPFD_CLOEXEC, 0));
  return FileHandle(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
}

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
  file.path_ = behind_links(path);
  const std::filesystem::path& place = file.path_;
  struct stat known = {};
  if (is_open_file(place)) {
    file.file_ = open_again(place);
  } else if (::stat(place.c_str(), &known) == 0 && !S_ISREG(known.st_mode)) {
    file.file_ = FileHandle(::open(place.c_str(), O_WRONLY | O_CLOEXEC));
  } else {
    sdk::remove_left_partials(place);
    if (file.open_nameless(place.has_parent_path() ? place.parent_path() : ".")) return file;
    const std::filesystem::path beside = sdk::partial_of(place);
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
