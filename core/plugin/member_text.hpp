/// \file A plugin with options as a text, for plugins that use others (baleen_host_open_t in baleen/host.h).
#pragma once
#include <string>
#include <string_view>

#include "baleen/result.hpp"
#include "core/input/user_value.hpp"
#include "core/plugin/descriptor.hpp"

namespace baleen {

/// The name, then a line for each option.
std::string member_text(const UserMember& member);

/// The name in such a text.
std::string_view member_name(std::string_view text);
/// Its options, read by the schema of the plugin that it names. What the schema lacks stays a string. Errors are
/// INVALID.
Result<UserValues> member_options(std::string_view text, const Descriptor& descriptor);

}  // namespace baleen
