/// \file Writing, syncing, renaming.
#include "temporary.hpp"

#include <fcntl.h>

#include <cstdio>
#include <filesystem>

namespace baleen::safetensors {

Result<Temporary> Temporary::beside(const std::string& path) {
  Temporary temporary;
  temporary.path_ = path + ".partial." + std::to_string(::getpid());
  // A leftover can only be of a dead process with our number.
  ::unlink(temporary.path_.c_str());
  temporary.file_ = File(::open(temporary.path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!temporary.file_) return system_error("cannot create", temporary.path_);
  return temporary;
}

Status Temporary::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_.number(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return system_error("cannot write", path_);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return {};
}

Status Temporary::rename_to(const std::string& target) {
  if (::fsync(file_.number()) != 0) return system_error("cannot sync", path_);
  if (::close(file_.release()) != 0) return system_error("cannot close", path_);
  if (std::rename(path_.c_str(), target.c_str()) != 0) return system_error("cannot replace", target);
  path_.clear();
  return sync_folder(std::filesystem::path(target).parent_path().string());
}

Status sync_folder(const std::string& path) {
  const std::string folder = path.empty() ? "." : path;
  const File opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened || ::fsync(opened.number()) != 0) return system_error("cannot sync the folder", folder);
  return {};
}

}  // namespace baleen::safetensors
