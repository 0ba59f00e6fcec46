/// \file TOML values as a user's option values. Private to this folder.
#pragma once
#include <toml++/toml.h>

#include <string>
#include <string_view>

#include "baleen/result.hpp"
#include "core/input/user_value.hpp"

namespace baleen {

/// A boolean, number, string, list of strings, or rows of numbers of one length. `name` is the key, `where` the value's
/// place.
Result<UserValue> to_user_value(const toml::node& node, std::string_view name, std::string where);

/// "a string", "a table", ...: what `node` is, for messages.
std::string_view type_of(const toml::node& node);

}  // namespace baleen
