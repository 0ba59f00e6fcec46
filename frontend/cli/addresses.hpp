/// \file Addresses of this machine that strangers may reach.
#pragma once
#include <string>
#include <vector>

namespace baleen::app {

/// Whether the internet routes to it: it is none of the ranges that are private, shared by a carrier's customers, of
/// one link or of one machine (RFC 1918, 6598, 3927, 4193, 4291). False where the text is no address.
bool is_public(const std::string& address);

/// Of this machine, sorted: "203.0.113.5", "2001:0db8:0000:...".
std::vector<std::string> public_addresses();

}  // namespace baleen::app
