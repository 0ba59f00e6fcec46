/// \file NCCL's configuration files.
#include "environment.hpp"

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

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

}  // namespace baleen::nccl
