/// \file TOML values as a user's option values. Private to this folder.
#pragma once
#include <string>
#include <string_view>

#include "baleen/result.hpp"
#include "core/input/user_value.hpp"
#include "frontend/toml/toml_include.hpp"

namespace baleen {

/// A boolean, number, string, list of strings, or rows of numbers of one length. `name` is the key, `where` the value's
/// place.
Result<UserValue> to_user_value(const toml::node& node, std::string_view name, std::string where);

/// Of a number; the nearest one where a whole number is too large for a double to be exact.
double number_of(const toml::node& node);

/// "a string", "a table", ...: what `node` is, for messages.
std::string_view type_of(const toml::node& node);

}  // namespace baleen
