/// \file What a program gives to a script: an array that stays in C++, so that a script pays for the numbers it reads.
#pragma once
#include <string>
#include <vector>

#include "frontend/lua/arguments.hpp"

namespace baleen {

/// Makes the type "baleen.array": `shape`, `#array`, `array[i]` (row-major, from 1) and `array:values([first, count])`.
void make_array_type(lua_State* L);
void push_array(lua_State* L, NumberArray array);
/// The numbers of an array, of a list, or of lists in lists, row-major. `what` begins the message for anything else.
std::vector<double> numbers_at(lua_State* L, int index, const std::string& what);

}  // namespace baleen
