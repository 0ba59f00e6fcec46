/// \file One option's value: read from text, checked against the schema.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "baleen/result.hpp"
#include "core/input/user_value.hpp"
#include "core/plugin/descriptor.hpp"

namespace baleen {

/// Reads text (a default, a command line flag) as a value of the option's type, then checks it. Tables have no such
/// text.
Result<UserValue> parse_option_text(const Option& option, std::string_view text, std::string where);

/// Checks type, range and choices. An integer stands for a number, a whole number for an integer, one string for a
/// list, an empty list for an empty table.
Status check_option(const Option& option, const UserValue& value);

/// BOOL and INT as an integer, INT, FLOAT and SCHEDULE as a number, of a value that `check_option` accepts.
std::int64_t as_integer(const UserValue& value);
double as_number(const UserValue& value);

}  // namespace baleen
