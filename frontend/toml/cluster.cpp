/// \file One function for the section, one for a host.
#include "frontend/toml/cluster.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "frontend/toml/choice.hpp"

namespace baleen {
namespace {

constexpr std::int64_t kLargestPort = 65535;
constexpr std::int64_t kLongestWait = 7 * 24 * 3600;

Status read_options(const TomlEntry& section, UserValues& options) {
  BALEEN_TRY_ASSIGN(const toml::table* table, as_table(section));
  for (const TomlEntry& entry : entries(*table)) {
    if (entry.key == "plugin")
      return invalid("every host uses the same plugin; only its options may differ", entry.key_where);
    BALEEN_TRY(add_option(entry, options));
  }
  return {};
}

Status read_host_key(const TomlEntry& entry, ManifestHost& host) {
  static const std::vector<std::string> known = {"name", "ranks", "address", "cores", "compute", "transport"};
  if (entry.key == "name") {
    BALEEN_TRY_ASSIGN(host.name, as_string(entry));
  } else if (entry.key == "ranks") {
    BALEEN_TRY_ASSIGN(host.ranks, as_count(entry));
  } else if (entry.key == "address") {
    BALEEN_TRY_ASSIGN(host.address, as_string(entry));
  } else if (entry.key == "cores") {
    BALEEN_TRY_ASSIGN(host.cores, as_string(entry));
    host.cores_where = entry.where;
  } else if (entry.key == "compute") {
    BALEEN_TRY(read_options(entry, host.compute));
  } else if (entry.key == "transport") {
    BALEEN_TRY(read_options(entry, host.transport));
  } else {
    return unknown_key(entry, known);
  }
  return {};
}

Status read_host(const TomlEntry& item, Manifest& out) {
  if (!item.node->is_table()) return wrong_type(item, "an array of tables like { name = \"a\", ranks = 2 }");
  ManifestHost host;
  host.name.clear();
  host.where = item.where;
  for (const TomlEntry& entry : entries(*item.node->as_table())) BALEEN_TRY(read_host_key(entry, host));
  if (host.name.empty()) return invalid("a host needs a `name`", item.where);
  for (const ManifestHost& other : out.hosts)
    if (other.name == host.name)
      return invalid("host `" + host.name + "` stands here twice; give it more `ranks` instead", item.where);
  out.hosts.push_back(std::move(host));
  return {};
}

Status read_hosts(const TomlEntry& entry, Manifest& out) {
  BALEEN_TRY_ASSIGN(const toml::array* hosts, as_array(entry, "an array of hosts"));
  if (hosts->empty()) return invalid("`hosts` names no host", entry.where);
  out.hosts.clear();
  for (const toml::node& item : *hosts) BALEEN_TRY(read_host(item_of(entry, item), out));
  return {};
}

/// How the hosts meet, which is an option of the launcher; nothing for another key.
Result<std::optional<UserValue::Data>> read_meeting(const TomlEntry& entry) {
  if (entry.key == "port" || entry.key == "wait") {
    BALEEN_TRY_ASSIGN(const std::int64_t count, as_count(entry, entry.key == "port" ? kLargestPort : kLongestWait));
    return std::optional<UserValue::Data>(count);
  }
  if (entry.key == "listen") {
    BALEEN_TRY_ASSIGN(std::string address, as_string(entry));
    return std::optional<UserValue::Data>(std::move(address));
  }
  if (entry.key != "start") return std::optional<UserValue::Data>();
  BALEEN_TRY_ASSIGN(std::vector<std::string> words, as_strings(entry));
  if (words.empty()) return invalid("`start` holds no command", entry.where);
  return std::optional<UserValue::Data>(std::move(words));
}

}  // namespace

Result<bool> read_cluster(const TomlEntry& cluster, Manifest& out) {
  static const std::vector<std::string> known = {"hosts", "port", "listen", "start", "wait"};
  BALEEN_TRY_ASSIGN(const toml::table* table, as_table(cluster));
  bool has_hosts = false;
  const TomlEntry* meeting = nullptr;  // a key that makes sense with several hosts only
  const std::vector<TomlEntry> all = entries(*table);
  for (const TomlEntry& entry : all) {
    if (entry.key == "hosts") {
      BALEEN_TRY(read_hosts(entry, out));
      has_hosts = true;
      continue;
    }
    meeting = &entry;
    BALEEN_TRY_ASSIGN(auto value, read_meeting(entry));
    if (!value) return unknown_key(entry, known);
    BALEEN_TRY(add_launcher_option(entry.key, {*std::move(value), entry.where, entry.key_where}, out));
  }
  if (out.hosts.size() > 1) return has_hosts;
  if (!out.hosts.front().address.empty())
    return invalid("`address` is for clusters of several hosts, and this one has one", out.hosts.front().where);
  if (meeting)
    return invalid("`" + meeting->key + "` is for clusters of several hosts, and this one has one", meeting->key_where);
  return has_hosts;
}

}  // namespace baleen
