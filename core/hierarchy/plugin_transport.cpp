/// \file Calls through the table, with the plugin's reasons.
#include "core/hierarchy/plugin_transport.hpp"

namespace baleen {

Result<std::unique_ptr<OpenTransport>> PluginTransport::create(Plugin plugin, const baleen_settings_t& settings,
                                                               const baleen_rendezvous_t& rendezvous,
                                                               baleen_transport_flags_t flags) {
  BALEEN_TRY_ASSIGN(const baleen_transport_t* table, plugin.table<baleen_transport_t>("transport"));
  std::unique_ptr<PluginTransport> made(new PluginTransport(plugin, *table));
  BALEEN_TRY(plugin.check(table->create(plugin.host(), &settings, &rendezvous, flags, &made->self_)));
  if (flags & BALEEN_TRANSPORT_NOTED)
    made->notes_ = static_cast<const baleen_transport_notes_t*>(table->query(made->self_, abi(BALEEN_TRANSPORT_NOTES)));
  return std::unique_ptr<OpenTransport>(std::move(made));
}

PluginTransport::~PluginTransport() {
  if (self_) table_.destroy(self_);
}

bool PluginTransport::takes(const baleen_transport_t& table, std::string_view memory) {
  const void* found = table.query ? table.query(nullptr, abi(std::string_view(BALEEN_TRANSPORT_MEMORY))) : nullptr;
  return found && static_cast<const baleen_transport_memory_t*>(found)->takes(abi(memory)) != 0;
}

Result<bool> PluginTransport::would_take(const Plugin& plugin, std::string_view memory) {
  BALEEN_TRY_ASSIGN(const baleen_transport_t* table, plugin.table<baleen_transport_t>("transport"));
  return takes(*table, memory);
}

Result<void*> PluginTransport::allocate(std::uint64_t bytes) {
  void* base = nullptr;
  BALEEN_TRY(plugin_.check(table_.allocate(self_, bytes, &base)));
  return base;
}

Result<void*> PluginTransport::group_create(std::vector<std::int32_t> ranks) {
  void* group = nullptr;
  BALEEN_TRY(plugin_.check(table_.group_create(self_, ranks.data(), ranks.size(), &group)));
  return group;
}

Result<void*> PluginTransport::prepare(void* group, const baleen_collective_spec_t& spec) {
  void* slot = nullptr;
  BALEEN_TRY(plugin_.check(table_.prepare(self_, group, &spec, &slot)));
  return slot;
}

}  // namespace baleen
