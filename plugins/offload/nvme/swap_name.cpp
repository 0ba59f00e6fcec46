/// \file Names that tell who made a file, and whether that process is alive.
#include <unistd.h>

#include <array>
#include <charconv>
#include <fstream>
#include <iterator>
#include <vector>

#include "swap_files.hpp"

namespace baleen::nvme {
namespace {

constexpr std::string_view kPrefix = "baleen-swap";

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "host";
  std::string text(name.data());
  for (char& letter : text)
    if (letter == '.' || letter == '/') letter = '-';
  return text;
}

/// When a process was started, in ticks since the host's start; 0: there is none. A number is used again, a pair is
/// not.
std::uint64_t start_of(long process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text(std::istreambuf_iterator<char>(file), {});
  std::size_t at = text.rfind(')');  // the name before it may have anything in it
  constexpr int kFieldsBefore = 20;
  for (int i = 0; i < kFieldsBefore && at != text.npos; ++i) at = text.find(' ', at + 1);
  std::uint64_t start = 0;
  if (at != text.npos) std::from_chars(text.data() + at + 1, text.data() + text.size(), start);
  return start;
}

bool is_number(std::string_view text, std::uint64_t* value) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return code == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::string swap_name(std::uint32_t number) {
  const long self = ::getpid();
  return std::string(kPrefix) + "." + host_name() + "." + std::to_string(self) + "." + std::to_string(start_of(self)) +
         "." + std::to_string(number);
}

bool is_left_behind(std::string_view name) {
  std::vector<std::string_view> parts;
  for (std::string_view rest = name; !rest.empty();) {
    const std::size_t dot = std::min(rest.find('.'), rest.size());
    parts.push_back(rest.substr(0, dot));
    rest.remove_prefix(std::min(dot + 1, rest.size()));
  }
  std::uint64_t process = 0, start = 0, number = 0;
  if (parts.size() != 5 || parts[0] != kPrefix || parts[1] != host_name() || !is_number(parts[2], &process) ||
      !is_number(parts[3], &start) || !is_number(parts[4], &number))
    return false;
  return start_of(static_cast<long>(process)) != start;
}

}  // namespace baleen::nvme
