/// \file Reads /proc/self.
#include "frontend/engine/process_memory.hpp"

#include <fstream>
#include <map>
#include <sstream>
#include <string>

namespace baleen::app {
namespace {

/// "Key:   123 kB" by line, in bytes.
std::map<std::string, std::uint64_t> numbers_in(const char* path) {
  std::map<std::string, std::uint64_t> numbers;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string key, unit;
    std::uint64_t number = 0;
    if (words >> key >> number >> unit && unit == "kB" && key.ends_with(':')) {
      key.pop_back();
      numbers[key] = number * 1024;
    }
  }
  return numbers;
}

/// Whether the first line of a mapping is of a file that holds data: no program, no library, nothing without a name.
bool is_data(const std::string& mapping) {
  std::istringstream words(mapping);
  std::string range, rights, offset, device, inode, path;
  words >> range >> rights >> offset >> device >> inode;
  std::getline(words >> std::ws, path);
  const bool is_file = path.starts_with('/') && inode != "0" && !path.starts_with("/memfd:") &&
                       !path.starts_with("/dev/") && !path.starts_with("/proc/");
  return is_file && rights.find('x') == std::string::npos && path.find(".so") == std::string::npos;
}

std::uint64_t unread_files() {
  std::ifstream file("/proc/self/smaps");
  std::uint64_t size = 0, unread = 0;
  bool counts = false;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string key;
    std::uint64_t number = 0;
    words >> key;
    if (!key.ends_with(':')) {
      counts = is_data(line);
    } else if (counts && words >> number) {
      if (key == "Size:") size = number;
      if (key == "Rss:") unread += size - number;
    }
  }
  return unread * 1024;
}

}  // namespace

ProcessMemory process_memory() {
  const auto status = numbers_in("/proc/self/status"), rollup = numbers_in("/proc/self/smaps_rollup");
  const auto of = [](const auto& numbers, const char* key) {
    const auto found = numbers.find(key);
    return found == numbers.end() ? std::uint64_t{0} : found->second;
  };
  ProcessMemory memory;
  memory.peak = of(status, "VmHWM");
  memory.resident = of(status, "RssAnon") + of(status, "RssShmem");
  const std::uint64_t shared = of(status, "RssShmem"), own = of(rollup, "Pss_Shmem");
  memory.of_others = shared > own && own > 0 ? shared - own : 0;
  memory.unread_files = unread_files();
  return memory;
}

}  // namespace baleen::app
