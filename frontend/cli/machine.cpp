/// \file Reads /proc, /sys and /dev/shm, and asks hwloc.
#include "frontend/cli/machine.hpp"

#include <sys/statvfs.h>
#include <sys/utsname.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <map>
#include <sstream>
#include <string_view>

#include "frontend/engine/processors.hpp"

namespace baleen::app {
namespace {

std::string trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(" \t") - first + 1));
}

/// "key : value" lines; the first of each key.
std::map<std::string, std::string> read_pairs(const char* file) {
  std::map<std::string, std::string> pairs;
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    const std::size_t colon = line.find(':');
    if (colon != std::string::npos) pairs.emplace(trimmed(line.substr(0, colon)), trimmed(line.substr(colon + 1)));
  }
  return pairs;
}

std::string read_line(const char* file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  return line;
}

std::uint64_t number(const std::string& text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// Of all the flags of a processor, those that decide which kernels it runs.
std::vector<std::string> chosen_features(const std::string& flags) {
  static const std::vector<std::string> known = {"sse4_2",   "avx",      "f16c",        "fma",         "avx2",
                                                 "avx512f",  "avx512vl", "avx512_vnni", "avx512_bf16", "amx_bf16",
                                                 "amx_int8", "asimd",    "sve",         "bf16"};
  std::vector<std::string> features;
  std::istringstream words(flags);
  for (std::string word; words >> word;)
    if (std::ranges::count(known, word)) features.push_back(word);
  return features;
}

/// The word in brackets of "always [madvise] never".
std::string bracketed(const std::string& line) {
  const std::size_t open = line.find('[');
  const std::size_t close = line.find(']');
  return open < close && close != std::string::npos ? line.substr(open + 1, close - open - 1) : std::string();
}

}  // namespace

Machine look_at_machine() {
  Machine machine;
  if (utsname name{}; uname(&name) == 0)
    machine.system = std::string(name.sysname) + " " + name.release + " " + name.machine;
  auto processor = read_pairs("/proc/cpuinfo");
  machine.processor = processor["model name"];
  machine.features = chosen_features(processor["flags"] + " " + processor["Features"]);
  machine.cores = cpus_text(usable_cpus());
  auto memory = read_pairs("/proc/meminfo");
  machine.memory_bytes = number(memory["MemTotal"]) * 1024;
  machine.memory_free_bytes = number(memory["MemAvailable"]) * 1024;
  machine.huge_pages = number(memory["HugePages_Total"]);
  machine.huge_page_bytes = number(memory["Hugepagesize"]) * 1024;
  machine.memory_limit_bytes = number(read_line("/sys/fs/cgroup/memory.max"));
  machine.transparent_huge_pages = bracketed(read_line("/sys/kernel/mm/transparent_hugepage/enabled"));
  if (struct statvfs shared{}; statvfs("/dev/shm", &shared) == 0) {
    machine.shared_bytes = shared.f_frsize * shared.f_blocks;
    machine.shared_free_bytes = shared.f_frsize * shared.f_bavail;
  }
  return machine;
}

}  // namespace baleen::app
