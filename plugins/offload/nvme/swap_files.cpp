/// \file Opens, preallocates and stripes swap files.
#include "swap_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <utility>

#include "common/block_sums.hpp"

namespace baleen::nvme {

using offload_common::kBlock;
namespace {

constexpr mode_t kOwnersOnly = 0600;

Error io_error(const std::string& what, int code, const std::string& where) {
  return {BALEEN_IO, what + ": " + std::strerror(code), where};
}

/// Files of processes that died between making a file and taking its name away, or could not take it away.
void remove_left_behind(const Host& host, const std::string& folder) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    if (!is_left_behind(entry.path().filename().string()) || ::unlink(entry.path().c_str()) != 0) continue;
    host.log(BALEEN_INFO, entry.path().string() + ": removed this swap file of a process that is dead");
  }
}

/// A descriptor, or a negative errno.
int open_without_name(const std::string& folder, int more) {
  const int file = ::open(folder.c_str(), O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC | more, kOwnersOnly);
  return file < 0 ? -errno : file;
}

int open_with_name(const std::string& path, int more) {
  const int file = ::open(path.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | more, kOwnersOnly);
  const int code = errno;
  // Some file systems make the file and refuse O_DIRECT then.
  if (file < 0 && code == EINVAL) ::unlink(path.c_str());
  return file < 0 ? -code : file;
}

/// Opens by the first way that works, with O_DIRECT if that works.
template <class Open>
int open_directly(bool direct, bool* is_direct, const Open& open) {
  *is_direct = direct;
  int file = open(direct ? O_DIRECT : 0);
  if (file == -EINVAL && direct) {
    *is_direct = false;
    file = open(0);
  }
  return file;
}

/// For file systems that cannot preallocate: every block is written.
int write_zeros(int file, std::uint64_t begin, std::uint64_t end) {
  constexpr std::uint64_t kPiece = 1u << 20;
  const std::unique_ptr<std::byte, decltype(&std::free)> zeros(
      static_cast<std::byte*>(std::aligned_alloc(kBlock, kPiece)), &std::free);
  if (!zeros) return ENOMEM;
  std::memset(zeros.get(), 0, kPiece);
  while (begin < end) {
    const ssize_t written = ::pwrite(file, zeros.get(), std::min(kPiece, end - begin), static_cast<off_t>(begin));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return written < 0 ? errno : EIO;
    begin += static_cast<std::uint64_t>(written);
  }
  return 0;
}

int preallocate(int file, std::uint64_t begin, std::uint64_t end) {
  while (::fallocate(file, 0, static_cast<off_t>(begin), static_cast<off_t>(end - begin)) != 0) {
    if (errno == EOPNOTSUPP) return write_zeros(file, begin, end);
    if (errno != EINTR) return errno;
  }
  return 0;
}

std::uint64_t free_bytes(int file) {
  struct statvfs about {};
  return ::fstatvfs(file, &about) == 0 ? std::uint64_t{about.f_bavail} * about.f_frsize : 0;
}

}  // namespace

SwapFiles::SwapFiles(SwapFiles&& other) noexcept : files_(std::move(other.files_)), stripe_(other.stripe_) {
  other.files_.clear();
}

SwapFiles::~SwapFiles() {
  for (const File& file : files_) {
    if (file.has_name) ::unlink(file.path.c_str());
    ::close(file.descriptor);
  }
}

Result<SwapFiles> SwapFiles::open(const Host& host, const std::vector<std::string>& folders, std::uint64_t stripe,
                                  bool direct, SwapName first) {
  SwapFiles opened;
  opened.stripe_ = stripe;
  for (const std::string& folder : folders) {
    struct stat about {};
    if (::stat(folder.c_str(), &about) != 0) return io_error("cannot keep swap files there", errno, folder);
    if (!S_ISDIR(about.st_mode)) return invalid("is no folder; option `path` names folders for swap files", folder);
    remove_left_behind(host, folder);
    File file{-1, false, false, folder, 0};
    if (first == SwapName::kNone)
      file.descriptor =
          open_directly(direct, &file.is_direct, [&](int more) { return open_without_name(folder, more); });
    const bool lacks_nameless =
        file.descriptor == -EOPNOTSUPP || file.descriptor == -EISDIR || file.descriptor == -ENOENT;
    if (first != SwapName::kNone || lacks_nameless) {
      std::string path;
      for (std::uint32_t number = 0; number == 0 || file.descriptor == -EEXIST; ++number) {
        path = (std::filesystem::path(folder) / swap_name(number)).string();
        file.descriptor = open_directly(direct, &file.is_direct, [&](int more) { return open_with_name(path, more); });
      }
      file.has_name = file.descriptor >= 0 && (first == SwapName::kKept || ::unlink(path.c_str()) != 0);
      if (file.has_name) file.path = path;
    }
    if (file.descriptor < 0) return io_error("cannot make a swap file", -file.descriptor, folder);
    if (direct && !file.is_direct)
      host.log(BALEEN_WARNING, folder +
                                   ": this file system takes no O_DIRECT, so swap goes through the page cache and " +
                                   "takes memory from others");
    opened.files_.push_back(std::move(file));
  }
  return opened;
}

bool SwapFiles::is_direct() const {
  return std::any_of(files_.begin(), files_.end(), [](const File& file) { return file.is_direct; });
}

std::uint64_t SwapFiles::share(std::uint64_t bytes) const {
  if (files_.size() == 1) return bytes;
  const std::uint64_t row = stripe_ * files_.size();
  return (bytes + row - 1) / row * stripe_;
}

SwapPlace SwapFiles::place(std::uint64_t at) const {
  if (files_.size() == 1) return {0, at, std::numeric_limits<std::uint64_t>::max()};
  const std::uint64_t stripe = at / stripe_, within = at % stripe_;
  return {static_cast<std::uint32_t>(stripe % files_.size()), stripe / files_.size() * stripe_ + within,
          stripe_ - within};
}

Status SwapFiles::grow_file(File& file, std::uint64_t bytes, std::uint64_t end) const {
  if (bytes <= file.bytes) return {};
  const std::uint64_t before = free_bytes(file.descriptor);
  if (const int code = preallocate(file.descriptor, file.bytes, bytes); code != 0) {
    const bool is_full = code == ENOSPC || code == EDQUOT;
    Error error = io_error("the swap file of " + std::to_string(end) + " bytes" +
                               (files_.size() > 1 ? " in " + std::to_string(files_.size()) + " folders" : "") +
                               " needs " + std::to_string(bytes - file.bytes) + " bytes more here, where " +
                               std::to_string(before) + " are free",
                           code, file.path);
    if (is_full) {
      error.code = BALEEN_NO_MEMORY;
      error.message += "; make room, name another folder in `path`, or offload less";
    }
    return error;
  }
  file.bytes = bytes;
  return {};
}

Status SwapFiles::grow(std::uint64_t end) {
  const std::uint64_t before = files_.front().bytes;  // of all of them: they grow together
  for (File& file : files_)
    if (Status grown = grow_file(file, share(end), end); !grown) {
      for (File& each : files_) {
        each.bytes = before;
        (void)!::ftruncate(each.descriptor, static_cast<off_t>(before));
      }
      return grown;
    }
  return {};
}

void SwapFiles::shrink(std::uint64_t end) {
  for (File& file : files_) {
    if (share(end) >= file.bytes) continue;
    file.bytes = share(end);
    (void)!::ftruncate(file.descriptor, static_cast<off_t>(file.bytes));
  }
}

std::uint64_t SwapFiles::room() const {
  std::map<dev_t, std::uint64_t> sharers;
  std::vector<dev_t> disks;
  for (const File& file : files_) {
    struct stat about {};
    ::fstat(file.descriptor, &about);
    disks.push_back(about.st_dev);
    ++sharers[about.st_dev];
  }
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  for (std::size_t i = 0; i < files_.size(); ++i)
    least = std::min(least, free_bytes(files_[i].descriptor) / sharers[disks[i]]);
  return least / kBlock * kBlock * files_.size();
}

}  // namespace baleen::nvme
