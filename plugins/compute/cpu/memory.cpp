/// \file Reading /proc and the control group.
#include "memory.hpp"

#include <algorithm>
#include <fstream>
#include <limits>

namespace baleen::cpu {
namespace {

// The number in the file, or `fallback` where there is none ("max", or no such file).
std::uint64_t read_number(const std::string& path, std::uint64_t fallback) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  return file >> value ? value : fallback;
}

// Free room under the limits of this process's control group (version 2) and its parents.
std::uint64_t control_group_room() {
  constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();
  std::ifstream file("/proc/self/cgroup");
  std::string line, path;
  while (std::getline(file, line))
    if (line.rfind("0::", 0) == 0) path = line.substr(3);
  std::uint64_t room = kNone;
  while (true) {
    const std::string folder = "/sys/fs/cgroup" + path;
    const std::uint64_t limit = read_number(folder + "/memory.max", kNone);
    if (limit != kNone) room = std::min(room, limit - std::min(limit, read_number(folder + "/memory.current", 0)));
    if (path.empty() || path == "/") return room;
    path.resize(path.find_last_of('/'));
  }
}

// Bytes that a line of /proc/meminfo tells.
std::uint64_t told_by(const std::string& key, std::uint64_t fallback) {
  std::ifstream file("/proc/meminfo");
  std::string line;
  while (std::getline(file, line))
    if (line.rfind(key, 0) == 0) return std::stoull(line.substr(key.size())) << 10;
  return fallback;
}

}  // namespace

std::uint64_t available_memory() {
  return std::min(told_by("MemAvailable:", std::uint64_t{1} << 30), control_group_room());
}

std::uint64_t whole_memory() { return told_by("MemTotal:", 0); }

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line))
    if (line.rfind("model name", 0) == 0) {
      const std::size_t start = line.find_first_not_of(" \t", line.find(':') + 1);
      return start == std::string::npos ? "x86-64" : line.substr(start);
    }
  return "x86-64";
}

}  // namespace baleen::cpu
