/// \file The table of the plugin, with its reasons.
#include "core/execute/plugin_transport.hpp"

namespace baleen {

Result<std::unique_ptr<OpenTransport>> open_transport(Plugin plugin, const baleen_settings_t& settings,
                                                      const baleen_rendezvous_t& rendezvous) {
  BALEEN_TRY_ASSIGN(const baleen_transport_t* table, plugin.table<baleen_transport_t>("transport"));
  return TableTransport::create(*table, plugin.host(), settings, rendezvous,
                                [plugin](baleen_status_t status) { return plugin.failure(status); });
}

Result<baleen_operations_t> would_take_operations(const Plugin& plugin, const baleen_settings_t& settings,
                                                  std::string_view memory) {
  BALEEN_TRY_ASSIGN(const baleen_transport_t* table, plugin.table<baleen_transport_t>("transport"));
  return TableTransport::would_take_operations(*table, plugin.host(), settings, memory);
}

}  // namespace baleen
