/// \file Reads /proc/self.
#include "frontend/engine/process_memory.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <system_error>

namespace baleen::app {
namespace {

/// The word that `line` begins with, which is taken off it with the spaces before.
std::string_view next_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  const std::string_view word = line.substr(0, line.find_first_of(" \t"));
  line.remove_prefix(word.size());
  return word;
}

std::uint64_t number_in(std::string_view word) {
  std::uint64_t number = 0;
  std::from_chars(word.data(), word.data() + word.size(), number);
  return number;
}

/// "Key:   123 kB" by line, in bytes.
std::map<std::string, std::uint64_t> numbers_in(const char* path) {
  std::map<std::string, std::uint64_t> numbers;
  std::ifstream file(path);
  for (std::string text; std::getline(file, text);) {
    std::string_view line = text;
    const std::string_view key = next_word(line), number = next_word(line);
    if (key.ends_with(':') && next_word(line) == "kB")
      numbers[std::string(key.substr(0, key.size() - 1))] = number_in(number) * 1024;
  }
  return numbers;
}

/// Whether the first line of a mapping is of a file that holds data: not the program, no library, nothing without a
/// name.
bool is_data(std::string_view mapping, std::string_view program) {
  next_word(mapping);  // its addresses
  const std::string_view rights = next_word(mapping);
  next_word(mapping), next_word(mapping);  // offset and device
  const std::string_view inode = next_word(mapping);
  mapping.remove_prefix(std::min(mapping.find_first_not_of(" \t"), mapping.size()));
  const bool is_file = mapping.starts_with('/') && inode != "0" && mapping != program &&
                       !mapping.starts_with("/memfd:") && !mapping.starts_with("/dev/") &&
                       !mapping.starts_with("/proc/");
  return is_file && rights.find('x') == std::string_view::npos && mapping.find(".so") == std::string_view::npos;
}

/// Cheap, unlike smaps, for which the system visits every page.
bool maps_data(std::string_view program) {
  std::ifstream file("/proc/self/maps");
  for (std::string line; std::getline(file, line);)
    if (is_data(line, program)) return true;
  return false;
}

std::uint64_t unread_files() {
  std::error_code failed;
  const std::string program = std::filesystem::read_symlink("/proc/self/exe", failed);
  if (!maps_data(program)) return 0;
  std::ifstream file("/proc/self/smaps");
  std::uint64_t size = 0, unread = 0;
  bool counts = false;
  for (std::string text; std::getline(file, text);) {
    std::string_view line = text;
    const std::string_view key = next_word(line);
    if (!key.ends_with(':')) {
      counts = is_data(text, program);
    } else if (counts && key == "Size:") {
      size = number_in(next_word(line));
    } else if (counts && key == "Rss:") {
      unread += size - number_in(next_word(line));
    }
  }
  return unread * 1024;
}

}  // namespace

ProcessMemory process_memory() {
  const auto status = numbers_in("/proc/self/status");
  const auto of = [](const auto& numbers, const char* key) {
    const auto found = numbers.find(key);
    return found == numbers.end() ? std::uint64_t{0} : found->second;
  };
  ProcessMemory memory;
  memory.peak = of(status, "VmHWM");
  memory.resident = of(status, "RssAnon") + of(status, "RssShmem");
  if (const std::uint64_t shared = of(status, "RssShmem"); shared > 0) {
    const std::uint64_t own = of(numbers_in("/proc/self/smaps_rollup"), "Pss_Shmem");
    memory.of_others = shared > own && own > 0 ? shared - own : 0;
  }
  memory.unread_files = unread_files();
  return memory;
}

}  // namespace baleen::app
