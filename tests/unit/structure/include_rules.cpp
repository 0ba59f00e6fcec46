#include "include_rules.hpp"

#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <vector>

namespace baleen::structure {
namespace {

/// The core's folders by height: a folder includes itself and what is strictly lower.
const std::map<std::string, int> kHeights = {
    {"log", 0},   {"input", 1}, {"manifest", 2}, {"plugin", 2},  {"launch", 2},  {"layout", 3}, {"hierarchy", 3},
    {"graph", 4}, {"ops", 5},   {"plan", 6},     {"program", 7}, {"runtime", 8}, {"script", 9}, {"app", 10}};

/// A third-party library that one folder keeps to itself.
struct Confined {
  std::regex header;
  std::string folder;
};
const std::vector<Confined>& confined() {
  static const std::vector<Confined> all = {
      {std::regex("(spdlog|fmt)/.*"), "core/log/"},
      {std::regex("toml\\+\\+/.*|toml\\.h(pp)?"), "core/manifest/"},
      {std::regex("boost/dll.*"), "core/plugin/"},
      {std::regex("(.*/)?(lua|lauxlib|lualib|luaconf)\\.h(pp)?"), "core/script/"},
      {std::regex("CLI/.*"), "core/app/"},
      {std::regex("openssl/.*"), "core/launch/"},
  };
  return all;
}

/// The i-th part of a path with '/', or "".
std::string part(const std::string& path, int i) {
  std::istringstream parts(path);
  std::string found;
  for (; i >= 0; --i)
    if (!std::getline(parts, found, '/')) return "";
  return found;
}

bool is_standard(const std::string& header) {
  static const std::regex cpp("[a-z_]+"), libc("sys/[a-z_]+\\.h");
  static const std::set<std::string> c = {"assert.h", "ctype.h",   "dlfcn.h",  "elf.h",    "errno.h",
                                          "fcntl.h",  "float.h",   "limits.h", "math.h",   "signal.h",
                                          "stdarg.h", "stdbool.h", "stddef.h", "stdint.h", "stdio.h",
                                          "stdlib.h", "string.h",  "time.h",   "unistd.h", "linux/futex.h"};
  return std::regex_match(header, cpp) || std::regex_match(header, libc) || c.contains(header);
}

std::optional<std::string> core_violation(const std::string& file, const Include& include, bool is_own) {
  const std::string folder = part(file, 1);
  const auto own = kHeights.find(folder);
  if (own == kHeights.end()) return "core/" + folder + " has no place among the core's layers";
  if (include.path.starts_with("baleen/")) return {};
  if (!include.path.starts_with("core/")) {
    if (include.angled) return {};
    return is_own ? "is a sibling by a relative path; write core/" + folder + "/..." : "is not in core or sdk";
  }
  const std::string target = part(include.path, 1);
  const auto other = kHeights.find(target);
  if (other == kHeights.end()) return "core/" + target + " has no place among the core's layers";
  if (target != folder && other->second >= own->second) return "core/" + target + " is not below core/" + folder;
  return {};
}

bool is_member(const std::string& file) {
  static const std::set<std::string> families = {"plugins", "optimizers", "strategies", "transports"};
  return families.contains(part(file, 0));
}

/// tests/support serves unit tests too; that no other kind reaches the core through it is a test of its own.
bool may_see_core(const std::string& file) {
  return file.starts_with("tests/unit/") || file.starts_with("tests/bench/") || file.starts_with("tests/support/");
}

}  // namespace

std::string own_folder(const std::string& file) {
  if (!is_member(file)) return file.substr(0, file.rfind('/'));
  const std::string member = part(file, 0) + "/" + part(file, 1);
  return part(file, 0) == "plugins" ? member + "/" + part(file, 2) : member;
}

std::optional<std::string> violation(const std::string& file, const Include& include, bool is_own) {
  const std::string& path = include.path;
  if (path.find("../") != std::string::npos) return "climbs out of its folder";
  for (const Confined& library : confined())
    if (std::regex_match(path, library.header) && !file.starts_with(library.folder))
      return "only " + library.folder + " sees this library";
  const std::string top = part(file, 0);
  const bool of_sdk = path.starts_with("baleen/"), of_core = path.starts_with("core/");
  if (top == "core") return core_violation(file, include, is_own);
  if (top == "sdk") {
    if (include.angled ? is_standard(path) : (of_sdk || is_own)) return {};
    return "the SDK uses the C and C++ standard libraries alone";
  }
  if (is_member(file)) {
    if (of_core) return "a plugin sees the SDK only";
    if (!include.angled && !of_sdk && !is_own) return "is neither the SDK's nor in the plugin's own folder";
  }
  if (top == "tests" && of_core && !may_see_core(file))
    return "tests see the public surface; only those of kind unit and benchmarks see the core";
  return {};
}

}  // namespace baleen::structure
