/// \file New lists of variables in the place of old ones, which are kept; and NCCL's configuration files.
#include "environment.hpp"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <mutex>
#include <string_view>

namespace baleen::nccl {
namespace {

std::string home_folder() {
  passwd entry{}, *found = nullptr;
  char texts[4096];
  return getpwuid_r(getuid(), &entry, texts, sizeof texts, &found) == 0 && found ? found->pw_dir : "";
}

/// Of lines "NAME=value"; the first counts. Nothing where there is no such line, or no such file.
std::string value_in(const std::string& path, const std::string& name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(name + "=")) return line.substr(name.size() + 1);
  return {};
}

}  // namespace

std::optional<UserVariable> user_variable(const std::string& name) {
  const char *set = std::getenv(name.c_str()), *named = std::getenv("NCCL_CONF_FILE");
  if (set) return *set ? std::optional<UserVariable>({set, "the environment"}) : std::nullopt;
  for (const std::string& path :
       {named && *named ? named : home_folder() + "/.nccl.conf", std::string("/etc/nccl.conf")})
    if (const std::string value = value_in(path, name); !value.empty()) return UserVariable{value, path};
  return std::nullopt;
}

void set_variables(const std::vector<std::pair<std::string, std::string>>& variables) {
  static std::mutex mutex;
  // Never destroyed: the environment is read after this plugin's end, too.
  static auto& texts = *new std::deque<std::string>;
  static auto& lists = *new std::deque<std::vector<char*>>;

  const std::lock_guard lock(mutex);
  std::vector<char*> list;
  for (char** one = environ; one && *one; ++one) list.push_back(*one);
  bool changed = false;
  for (const auto& [name, value] : variables) {
    const std::string text = name + "=" + value;
    const std::string_view beginning(text.data(), name.size() + 1);
    const auto found =
        std::ranges::find_if(list, [&](const char* one) { return std::string_view(one).starts_with(beginning); });
    if (found != list.end() && text == *found) continue;
    changed = true;
    if (found != list.end()) list.erase(found);
    list.push_back(texts.emplace_back(text).data());
  }
  if (!changed) return;
  list.push_back(nullptr);
  std::atomic_ref(environ).store(lists.emplace_back(std::move(list)).data(), std::memory_order_release);
}

}  // namespace baleen::nccl
