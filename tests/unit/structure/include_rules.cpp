#include "include_rules.hpp"

#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <vector>

namespace baleen::structure {
namespace {

/// The folders of the rooms that make the program, by height: a folder includes itself and what is strictly lower.
const std::map<std::string, int> kHeights = {
    {"core/log", 0},           {"core/memory", 0},      {"core/input", 1},        {"core/plugin", 2},
    {"core/launch", 3},        {"compiler/layout", 3},  {"compiler/graph", 4},    {"compiler/ops", 5},
    {"compiler/placement", 6}, {"compiler/plan", 7},    {"compiler/codegen", 8},  {"core/execute", 9},
    {"core/runtime", 10},      {"frontend/toml", 2},    {"frontend/lua", 8},      {"frontend/checkpoint", 11},
    {"frontend/exchange", 12}, {"frontend/engine", 13}, {"frontend/validate", 3}, {"frontend/cli", 14}};

/// A third-party library that one folder, with its unit tests, keeps to itself.
struct Confined {
  std::regex header;
  std::string folder;
  std::string other = {};  ///< a second such folder
};
const std::vector<Confined>& confined() {
  static const std::vector<Confined> all = {
      {std::regex("(spdlog|fmt)/.*"), "core/log/"},
      {std::regex("toml\\+\\+/.*|toml\\.h(pp)?"), "frontend/toml/"},
      {std::regex("boost/dll.*"), "core/plugin/"},
      {std::regex("(.*/)?(lua|lauxlib|lualib|luaconf)\\.h(pp)?"), "frontend/lua/"},
      {std::regex("CLI/.*"), "frontend/cli/"},
      {std::regex("openssl/.*"), "plugins/launchers/", "transports/ucx/"},
      {std::regex("intel-ipsec-mb\\.h"), "transports/ucx/"},
      {std::regex("liburing.*"), "plugins/offload/nvme/"},
      {std::regex("hwloc.*"), "frontend/engine/", "plugins/compute/cpu/"},
  };
  return all;
}

bool keeps(const Confined& library, const std::string& file) {
  const auto is_in = [&](const std::string& folder) {
    return !folder.empty() && (file.starts_with(folder) || file.starts_with("tests/unit/" + folder));
  };
  return is_in(library.folder) || is_in(library.other);
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
  static const std::set<std::string> c = {"assert.h", "ctype.h", "dlfcn.h", "elf.h", "errno.h", "fcntl.h", "float.h",
                                          "limits.h", "math.h", "pthread.h", "signal.h", "stdarg.h", "stdbool.h",
                                          "stddef.h", "stdint.h", "stdio.h", "stdlib.h", "string.h", "time.h",
                                          "unistd.h", "linux/futex.h",
                                          // Names and addresses of network interfaces.
                                          "arpa/inet.h", "ifaddrs.h", "net/if.h", "netinet/in.h"};
  return std::regex_match(header, cpp) || std::regex_match(header, libc) || c.contains(header);
}

/// "core/log" of "core/log/log.cpp".
std::string room_folder(const std::string& path) { return part(path, 0) + "/" + part(path, 1); }

/// The headers by which processes reach others over a network.
bool is_of_sockets(const std::string& header) {
  static const std::regex sockets("(sys/(socket|un)|netdb|(netinet|arpa)/.*|openssl/.*)\\.h");
  return std::regex_match(header, sockets);
}

std::optional<std::string> room_violation(const std::string& file, const Include& include, bool is_own) {
  // Asks, in a crash, what plugins have connected.
  if (is_of_sockets(include.path) && file != "core/plugin/connections.cpp")
    return "is for launchers and transports, which are plugins: the program opens no sockets";
  const std::string folder = room_folder(file);
  const auto own = kHeights.find(folder);
  if (own == kHeights.end()) return folder + " has no place among the layers";
  if (include.path.starts_with("baleen/")) return {};
  if (!is_room(part(include.path, 0))) {
    if (include.angled) return {};
    return is_own ? "is a sibling by a relative path; write " + folder + "/..."
                  : "is in no room of the program nor in sdk";
  }
  const std::string target = room_folder(include.path);
  const auto other = kHeights.find(target);
  if (other == kHeights.end()) return target + " has no place among the layers";
  if (target != folder && other->second >= own->second) return target + " is not below " + folder;
  if (part(target, 0) == "frontend" && part(folder, 0) != "frontend") return "only the front end sees the front end";
  return {};
}

bool is_member(const std::string& file) {
  static const std::set<std::string> families = {"plugins", "optimizers", "strategies", "transports"};
  return families.contains(part(file, 0));
}

/// tests/support serves unit tests too; that no other kind reaches the program's inside through it is a test of its
/// own.
bool may_see_rooms(const std::string& file) {
  return file.starts_with("tests/unit/") || file.starts_with("tests/fuzz/") || file.starts_with("tests/bench/") ||
         file.starts_with("tests/support/");
}

}  // namespace

bool is_room(const std::string& top) { return top == "core" || top == "compiler" || top == "frontend"; }

std::string own_folder(const std::string& file) {
  if (!is_member(file)) return file.substr(0, file.rfind('/'));
  const std::string member = part(file, 0) + "/" + part(file, 1);
  return part(file, 0) == "plugins" && !part(file, 3).empty() ? member + "/" + part(file, 2) : member;
}

std::optional<std::string> violation(const std::string& file, const Include& include, bool is_own) {
  const std::string& path = include.path;
  if (path.find("../") != std::string::npos) return "climbs out of its folder";
  for (const Confined& library : confined())
    if (std::regex_match(path, library.header) && !keeps(library, file))
      return "only " + library.folder + " sees this library";
  const std::string top = part(file, 0);
  const bool of_sdk = path.starts_with("baleen/"), of_room = is_room(part(path, 0));
  if (is_room(top)) return room_violation(file, include, is_own);
  if (top == "sdk") {
    if (include.angled ? is_standard(path) : (of_sdk || is_own)) return {};
    return "the SDK uses the C and C++ standard libraries alone";
  }
  if (is_member(file)) {
    if (of_room) return "a plugin sees the SDK only";
    const bool of_family = path.starts_with("common/") && file.starts_with("plugins/");
    if (!include.angled && !of_sdk && !is_own && !of_family)
      return "is neither the SDK's nor in the plugin's own folder, nor in what its family shares";
  }
  if (top == "tests" && of_room && !may_see_rooms(file))
    return "tests see the public surface; only those of kind unit, fuzz targets and benchmarks see the inside";
  return {};
}

}  // namespace baleen::structure
