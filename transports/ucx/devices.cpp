/// \file Asks UCX's lower layer (UCT) for devices.
#include "devices.hpp"

#include <uct/api/uct.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "baleen/network.hpp"
#include "options.hpp"

namespace baleen::ucx {
namespace {

struct Found {
  std::map<std::string, std::vector<std::string>> devices;  // by transport
  std::set<std::string> fabrics;                            // network devices, but those of sockets
};

void add_resources(uct_md_h domain, Found& found) {
  uct_tl_resource_desc_t* resources = nullptr;
  unsigned count = 0;
  if (uct_md_query_tl_resources(domain, &resources, &count) != UCS_OK) return;
  for (unsigned i = 0; i < count; ++i) {
    const std::string transport = resources[i].tl_name;
    if (transport != "self")
      found.devices[transport].emplace_back(resources[i].dev_name);  // that reaches no other rank
    if (transport != "tcp" && resources[i].dev_type == UCT_DEVICE_TYPE_NET) found.fabrics.insert(resources[i].dev_name);
  }
  uct_release_tl_resource_list(resources);
}

void add_component(uct_component_h component, Found& found) {
  uct_component_attr_t attributes{};
  attributes.field_mask = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCE_COUNT;
  if (uct_component_query(component, &attributes) != UCS_OK) return;
  std::vector<uct_md_resource_desc_t> domains(attributes.md_resource_count);
  attributes.field_mask = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCES;
  attributes.md_resources = domains.data();
  if (uct_component_query(component, &attributes) != UCS_OK) return;
  for (const uct_md_resource_desc_t& resource : domains) {
    uct_md_config_t* configuration = nullptr;
    if (uct_md_config_read(component, nullptr, nullptr, &configuration) != UCS_OK) continue;
    uct_md_h domain = nullptr;
    if (uct_md_open(component, resource.md_name, configuration, &domain) == UCS_OK) {
      add_resources(domain, found);
      uct_md_close(domain);
    }
    uct_config_release(configuration);
  }
}

Found find_all() {
  Found found;
  uct_component_h* components = nullptr;
  unsigned count = 0;
  if (uct_query_components(&components, &count) != UCS_OK) return found;
  for (unsigned i = 0; i < count; ++i) add_component(components[i], found);
  uct_release_component_list(components);
  return found;
}

// Transports that copy within this host, or talk through sockets.
bool copies(const std::string& name) {
  static const std::set<std::string> known = {"tcp", "posix", "sysv", "cma", "knem", "xpmem", "self", "sm", "shm"};
  return known.contains(name);
}

}  // namespace

bool may_use_rdma(const std::string& tls) {
  const std::vector<std::string> names = names_in(tls);
  const bool any = names.empty() || tls.front() == '^' || std::ranges::find(names, "all") != names.end();
  if (!any) return !std::all_of(names.begin(), names.end(), copies);
  const auto found = find_all().devices;
  return !std::all_of(found.begin(), found.end(), [](const auto& one) { return copies(one.first); });
}

std::string devices_at(const std::string& address) {
  std::string list = interface_of(address);
  if (list.empty()) return {};
  for (const std::string& device : find_all().fabrics) list += "," + device;
  return list;
}

std::string available_devices() {
  const auto found = find_all().devices;
  std::string text;
  for (const auto& [name, devices] : found) {
    text += (text.empty() ? "" : ", ") + name;
    if (devices.size() == 1 && (devices[0] == "memory" || devices[0] == name)) continue;
    std::string list;
    for (const std::string& device : devices) list += (list.empty() ? "" : ", ") + device;
    text += " (" + list + ")";
  }
  return text.empty() ? "nothing that UCX can use" : text;
}

}  // namespace baleen::ucx
