/// \file Reads /proc for the processor's name and the free memory.
#include "memory.hpp"

#include <fstream>
#include <string>

#include "baleen/available_memory.hpp"

namespace baleen::cpu {

using namespace sdk;

namespace {

// Bytes that a line of /proc/meminfo tells.
std::uint64_t told_by(const std::string& key, std::uint64_t fallback) {
  std::ifstream file("/proc/meminfo");
  std::string line;
  while (std::getline(file, line))
    if (line.rfind(key, 0) == 0) return std::stoull(line.substr(key.size())) << 10;
  return fallback;
}

}  // namespace

std::uint64_t free_memory() { return sdk::available_memory(std::uint64_t{1} << 30); }

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
