/// \file A transport plugin as the program drives it.
#pragma once
#include <memory>
#include <string_view>

#include "baleen/open_transport.hpp"
#include "core/plugin/plugin.hpp"

namespace baleen {

/// Collective over all ranks of the rendezvous.
Result<std::unique_ptr<OpenTransport>> open_transport(Plugin plugin, const baleen_settings_t& settings,
                                                      const baleen_rendezvous_t& rendezvous);

/// Which collectives of a transport with these settings will also work in a device's memory of this kind.
Result<baleen_operations_t> would_take_operations(const Plugin& plugin, const baleen_settings_t& settings,
                                                  std::string_view memory);

}  // namespace baleen
