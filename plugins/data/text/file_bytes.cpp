/// \file FileBytes over open, mmap and read.
#include "file_bytes.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "baleen/file_handle.hpp"

namespace baleen::text {
namespace {

constexpr std::size_t kMapFrom = std::size_t{1} << 16;

Error failed(const std::string& what, const std::string& path) {
  const int reason = errno;
  const baleen_status_t code = reason == ENOENT || reason == ENOTDIR ? BALEEN_NOT_FOUND : BALEEN_IO;
  return {code, what + ": " + std::strerror(reason), path};
}

Status read_all(int file, std::span<std::byte> out, const std::string& path) {
  while (!out.empty()) {
    const ssize_t got = ::read(file, out.data(), out.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed("cannot read", path);
    if (got == 0) return Error{BALEEN_IO, "the file shrank while it was read", path};
    out = out.subspan(static_cast<std::size_t>(got));
  }
  return {};
}

}  // namespace

Result<FileBytes> FileBytes::open(const std::string& path) {
  const FileHandle file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));  // of a pipe it waits for nobody
  if (!file) return failed("cannot open", path);
  struct stat facts {};
  if (::fstat(file.get(), &facts) != 0) return failed("cannot stat", path);
  if (S_ISFIFO(facts.st_mode)) return invalid("is a pipe; text is read from files, by each rank", path);
  if (!S_ISREG(facts.st_mode)) return invalid("is not a regular file", path);
  FileBytes result;
  const auto size = static_cast<std::size_t>(facts.st_size);
  if (size < kMapFrom) {
    result.copied_.resize(size);
    BALEEN_TRY(read_all(file.get(), result.copied_, path));
    return result;
  }
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (address == MAP_FAILED) return failed("cannot map", path);
  result.mapped_ = static_cast<const std::byte*>(address);
  result.size_ = size;
  return result;
}

FileBytes::FileBytes(FileBytes&& other) noexcept
    : mapped_(std::exchange(other.mapped_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      copied_(std::move(other.copied_)) {}

FileBytes& FileBytes::operator=(FileBytes&& other) noexcept {
  std::swap(mapped_, other.mapped_);
  std::swap(size_, other.size_);
  std::swap(copied_, other.copied_);
  return *this;
}

FileBytes::~FileBytes() {
  if (mapped_) ::munmap(const_cast<std::byte*>(mapped_), size_);
}

}  // namespace baleen::text
