/// \file Names of files that tell which process made them, so that what a killed one left can be taken away.
#pragma once
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>

namespace baleen::sdk {

/// The number of the space in which process numbers are unique: two containers may share a host's name.
inline std::uint64_t space_of_processes() {
  std::error_code failed;
  const std::string space = std::filesystem::read_symlink("/proc/self/ns/pid", failed);
  std::uint64_t number = 0;
  const std::size_t begin = space.find('[') + 1;  // "pid:[4026531836]"; 0 where there is none
  std::from_chars(space.data() + begin, space.data() + space.size(), number);
  return number;
}

namespace detail {

inline std::string mark_of_host() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "host";
  std::string text(name.data());
  for (char& letter : text)
    if (letter == '.' || letter == '/') letter = '-';
  return text;
}

/// When a process was started, in ticks since the host's start; 0: there is none, or it has ended and nobody has asked
/// how, as where a container's first process does not. A number is used again, a pair is not.
inline std::uint64_t start_of_process(std::uint64_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  std::size_t at = text.rfind(')');  // the name before it may have anything in it
  constexpr int kFieldsBefore = 20;
  const char state = at != text.npos && at + 2 < text.size() ? text[at + 2] : 'X';
  if (state == 'Z' || state == 'X') return 0;
  for (int i = 0; i < kFieldsBefore && at != text.npos; ++i) at = text.find(' ', at + 1);
  std::uint64_t start = 0;
  if (at != text.npos) std::from_chars(text.data() + at + 1, text.data() + text.size(), start);
  return start;
}

/// Takes ".NUMBER" off the end of `text`; false where it does not end so.
inline bool take_last_number(std::string_view& text, std::uint64_t& value) {
  const std::size_t dot = text.rfind('.');
  if (dot == text.npos) return false;
  const auto [end, code] = std::from_chars(text.data() + dot + 1, text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size()) return false;
  text = text.substr(0, dot);
  return true;
}

}  // namespace detail

/// HOST.SPACE.PID.START of this process.
inline std::string process_mark() {
  const auto self = static_cast<std::uint64_t>(::getpid());
  return detail::mark_of_host() + "." + std::to_string(space_of_processes()) + "." + std::to_string(self) + "." +
         std::to_string(detail::start_of_process(self));
}

/// Whether `mark` is that of a process of this host which is no more.
inline bool is_mark_of_dead_process(std::string_view mark) {
  std::uint64_t space = 0, process = 0, start = 0;
  if (!detail::take_last_number(mark, start) || !detail::take_last_number(mark, process) ||
      !detail::take_last_number(mark, space))
    return false;
  return mark == detail::mark_of_host() && space == space_of_processes() && detail::start_of_process(process) != start;
}

/// Where a file or folder is written that becomes `target` when it is whole.
inline std::filesystem::path partial_of(const std::filesystem::path& target) {
  return target.string() + ".partial." + process_mark();
}

/// Removes what killed processes of this host left at `partial_of(target)`, and at that of names between its stem and
/// its extension ("model.after-step-5.safetensors" beside "model.safetensors").
inline void remove_left_partials(const std::filesystem::path& target) {
  namespace fs = std::filesystem;
  const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
  const std::string begin = target.stem().string(), middle = target.extension().string() + ".partial.";
  std::error_code failed;
  for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed)) {
    const std::string name = entry->path().filename().string();
    std::error_code ignored;
    const std::size_t mark = name.find(middle);
    if (mark == name.npos || mark < begin.size() || !name.starts_with(begin)) continue;
    if (mark > begin.size() && name[begin.size()] != '.') continue;  // another's
    if (is_mark_of_dead_process(std::string_view(name).substr(mark + middle.size())))
      fs::remove_all(entry->path(), ignored);
  }
}

}  // namespace baleen::sdk
