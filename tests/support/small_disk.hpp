/// \file A file system with hardly any room.
#pragma once
#include <sys/mount.h>

#include <filesystem>
#include <string>

namespace baleen::test {

/// A file system of so many bytes ("256k", "4m"), in memory; where this process may mount none, `possible` is false.
class SmallDisk {
 public:
  SmallDisk(const std::string& path, const std::string& size) : path_(path) {
    std::filesystem::create_directories(path);
    mounted_ = ::mount("tmpfs", path.c_str(), "tmpfs", 0, ("size=" + size).c_str()) == 0;
  }
  ~SmallDisk() {
    if (mounted_) ::umount2(path_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  bool possible() const { return mounted_; }

 private:
  std::string path_;
  bool mounted_;
};

}  // namespace baleen::test
