/// \file Reads by descriptor: streams of the library throw where the path is a folder.
#include "core/input/file_text.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "baleen/file_handle.hpp"

namespace baleen {
namespace {

Error unreadable(const std::string& why, const std::filesystem::path& path) { return {BALEEN_IO, why, path.string()}; }

}  // namespace

Result<std::string> file_text(const std::filesystem::path& path, FileKinds kinds) {
  const int waits = kinds == FileKinds::regular ? O_NONBLOCK : 0;
  const FileHandle file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | waits));
  struct stat found = {};
  if (!file || ::fstat(file.get(), &found) != 0)
    return unreadable("cannot read the file: " + std::string(std::strerror(errno)), path);
  if (S_ISDIR(found.st_mode))
    return unreadable("is a folder, where a file is needed; name a file, or move it away", path);
  if (kinds == FileKinds::regular && !S_ISREG(found.st_mode))
    return unreadable("is no regular file; move it away", path);
  std::string text;
  std::array<char, 1 << 16> piece;
  for (;;) {
    const ssize_t count = ::read(file.get(), piece.data(), piece.size());
    if (count == 0) return text;
    if (count > 0)
      text.append(piece.data(), static_cast<std::size_t>(count));
    else if (errno != EINTR)
      return unreadable("cannot read the file: " + std::string(std::strerror(errno)), path);
  }
}

}  // namespace baleen
