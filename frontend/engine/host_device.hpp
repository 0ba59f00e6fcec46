/// \file The host's cores as a device beside one with memory of its own: who they are, and what a plan has of them.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/execute/device.hpp"
#include "frontend/engine/members.hpp"

namespace baleen::app {

/// Whether the plan needs one beside `device`: it wants updates where states lie, and these places let their memory be
/// used in place (`maps`).
bool needs_host_device(const Plan& plan, const Device& device, bool maps);

/// The compute member of the manifest's [host_compute], or else the best that works on the host's memory, which its
/// described device tells. UNSUPPORTED, with what would help, where there is none; INVALID where the one that is named
/// has memory of its own. `beside`: the device's name, for messages.
Result<Member> choose_host_compute(const Registry& registry, const Manifest& manifest, const std::string& beside);

/// Its device, once `prepare` has said how many threads it has.
Result<std::unique_ptr<Device>> open_host_device(const Registry& registry, const Manifest& manifest,
                                                 const std::string& beside, std::uint64_t seed, const Place& place,
                                                 bool described, const std::function<Status(Member&)>& prepare);

/// "12 updates run on the host's cores, in 3.4 MiB where states lie", and what the device updates all the same; `why`
/// it does, where that is no matter of the updates. Empty: nobody wants any.
std::string host_updates_text(const HostUpdateReport& report, const std::string& why);

}  // namespace baleen::app
