/// \file Reserving, writing, syncing, renaming.
#include "temporary.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cstdio>
#include <filesystem>

#include "baleen/process_mark.hpp"

namespace baleen::safetensors {
namespace {

/// The disk is told of this much at once.
constexpr std::uint64_t kStretch = 8 << 20;
/// And so much may be on its way: the rest of a long file is on the disk when it is synced, and whoever watches how
/// much is written sees how fast the disk is.
constexpr std::uint64_t kUnderWay = 128 << 20;

/// What sync_file_range says of a disk, not of a file system that does not know it.
bool is_of_disk(int error) { return error == EIO || error == ENOSPC || error == EDQUOT || error == EROFS; }

}  // namespace

Result<Temporary> Temporary::beside(const std::string& path) {
  Temporary temporary;
  sdk::remove_left_partials(path);
  temporary.path_ = sdk::partial_of(path).string();
  ::unlink(temporary.path_.c_str());  // of this process, which gave it up
  temporary.file_ = FileHandle(::open(temporary.path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!temporary.file_) return system_error("cannot create", temporary.path_);
  return temporary;
}

Status Temporary::reserve(std::uint64_t bytes) {
  if (bytes == 0) return {};
  int result = 0;
  do result = ::fallocate(file_.get(), 0, 0, static_cast<off_t>(bytes));
  while (result != 0 && errno == EINTR);
  // A file system that cannot reserve is written to all the same.
  if (result == 0 || (errno != ENOSPC && errno != EDQUOT && errno != EFBIG && errno != EIO && errno != EROFS))
    return {};
  return system_error("cannot reserve " + std::to_string(bytes) + " bytes", path_);
}

Status Temporary::write(std::uint64_t at, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0)
      return system_error("cannot write " + std::to_string(bytes.size()) + " bytes at byte " + std::to_string(at),
                          path_);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    at += static_cast<std::uint64_t>(written);
  }
  return {};
}

Status Temporary::sync_range(std::uint64_t begin, std::uint64_t end, unsigned flags) {
  const int result = ::sync_file_range(file_.get(), static_cast<off_t>(begin), static_cast<off_t>(end - begin), flags);
  if (result == 0 || !is_of_disk(errno)) return {};
  return system_error("cannot write the " + std::to_string(end - begin) + " bytes before byte " + std::to_string(end),
                      path_);
}

Status Temporary::written_up_to(std::uint64_t end) {
  if (end < begun_ + kStretch) return {};
  BALEEN_TRY(sync_range(begun_, end, SYNC_FILE_RANGE_WRITE));
  begun_ = end;
  if (end < ended_ + kUnderWay + kStretch) return {};
  // What goes wrong is told once, here or by fsync.
  constexpr unsigned kWait = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
  BALEEN_TRY(sync_range(ended_, end - kUnderWay, kWait));
  ended_ = end - kUnderWay;
  return {};
}

Status Temporary::rename_to(const std::string& target) {
  if (::fsync(file_.get()) != 0) {
    struct stat facts {};
    const int reason = errno;
    const bool known = ::fstat(file_.get(), &facts) == 0;
    errno = reason;
    return system_error("cannot sync" + (known ? " its " + std::to_string(facts.st_size) + " bytes" : ""), path_);
  }
  if (::close(file_.release()) != 0) return system_error("cannot close", path_);
  if (std::rename(path_.c_str(), target.c_str()) != 0) return system_error("cannot replace", target);
  path_.clear();
  const Status synced = sync_folder(std::filesystem::path(target).parent_path().string());
  if (synced) return {};
  return Error{synced.error().code, "is whole in its place, but may not survive a power cut: " + synced.error().message,
               target};
}

Status sync_folder(const std::string& path) {
  const std::string folder = path.empty() ? "." : path;
  const FileHandle opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened || ::fsync(opened.get()) != 0) return system_error("cannot sync the folder", folder);
  return {};
}

}  // namespace baleen::safetensors
