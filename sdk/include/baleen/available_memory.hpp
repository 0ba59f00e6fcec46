/// \file How much memory a process may still take.
#pragma once
#include <algorithm>
#include <cstdint>
#include <fstream>
#include <limits>
#include <string>

namespace baleen::sdk {

/// Bytes, under the limits of this process's control group (version 2) and its parents; all there are where no group
/// limits it. What a group holds of files that nobody has read of late is given back by the kernel, and counts as free.
inline std::uint64_t control_group_room() {
  constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();
  const auto number_in = [](const std::string& path, std::uint64_t fallback) {
    std::ifstream file(path);
    std::uint64_t value = 0;
    return file >> value ? value : fallback;  // "max", or no such file
  };
  const auto idle_files = [](const std::string& folder) {
    std::ifstream file(folder + "/memory.stat");
    std::string key;
    for (std::uint64_t value = 0; file >> key >> value;)
      if (key == "inactive_file") return value;
    return std::uint64_t{0};
  };
  std::ifstream file("/proc/self/cgroup");
  std::string line, path;
  while (std::getline(file, line))
    if (line.starts_with("0::")) path = line.substr(3);
  for (std::uint64_t room = kNone;;) {
    const std::string folder = "/sys/fs/cgroup" + path;
    const std::uint64_t limit = number_in(folder + "/memory.max", kNone);
    if (limit != kNone) {
      const std::uint64_t used = number_in(folder + "/memory.current", 0);
      room = std::min(room, limit - std::min(limit, used - std::min(used, idle_files(folder))));
    }
    if (path.empty() || path == "/") return room;
    path.resize(path.find_last_of('/'));
  }
}

/// Bytes that this process may still take: of the machine's, and of its control group's. `unknown` where the system
/// does not tell.
inline std::uint64_t available_memory(std::uint64_t unknown = std::numeric_limits<std::uint64_t>::max()) {
  std::ifstream file("/proc/meminfo");
  std::uint64_t available = unknown;
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("MemAvailable:")) available = std::stoull(line.substr(13)) << 10;
  return std::min(available, control_group_room());
}

}  // namespace baleen::sdk
