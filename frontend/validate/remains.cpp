/// \file Reads /proc/self.
#include "frontend/validate/remains.hpp"

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <thread>

namespace baleen::validate {
namespace {

namespace fs = std::filesystem;

std::size_t count_of(const char* folder) {
  std::error_code code;
  std::size_t count = 0;
  for (fs::directory_iterator at(folder, code); at != fs::directory_iterator(); at.increment(code)) ++count;
  return count;
}

void add_file(std::set<std::string>& files, const std::string& path) {
  std::error_code code;
  if (path.starts_with('/') && !path.starts_with("/dev/") && fs::is_regular_file(path, code)) files.insert(path);
}

}  // namespace

Remains Remains::now() {
  Remains found;
  // A thread that was joined is in /proc for a moment more.
  found.threads = count_of("/proc/self/task");
  for (int turn = 0; turn < 20 && found.threads > 1; ++turn) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    found.threads = count_of("/proc/self/task");
  }
  found.descriptors = count_of("/proc/self/fd");
  std::error_code code;
  for (fs::directory_iterator at("/proc/self/fd", code); at != fs::directory_iterator(); at.increment(code))
    add_file(found.files, fs::read_symlink(at->path(), code).string());
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (const std::size_t at = line.find('/'); at != line.npos) add_file(found.files, line.substr(at));
  std::ifstream children("/proc/self/task/" + std::to_string(::getpid()) + "/children");
  for (std::size_t child = 0; children >> child;) found.children.insert(child);
  return found;
}

std::string Remains::beyond(const Remains& before, const Remains& within) const {
  const auto more = [](std::size_t now, std::size_t then, const char* what) {
    return now > then ? std::to_string(now - then) + " " + what : std::string();
  };
  for (const std::string& text :
       {more(descriptors, before.descriptors, "open descriptors"), more(threads, before.threads, "threads"),
        more(children.size(), before.children.size(), "processes")})
    if (!text.empty()) return text;
  std::error_code code;
  for (const auto* seen : {&files, &within.files})
    for (const std::string& file : *seen)
      if (!before.files.contains(file) && fs::exists(file, code)) return "the file " + file;
  return {};
}

}  // namespace baleen::validate
