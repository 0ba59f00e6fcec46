/// \file The data set that a Lua value stands for.
#pragma once
#include <memory>

#include "frontend/lua/interfaces.hpp"
#include "frontend/lua/lua_include.hpp"

namespace baleen {

/// Opened again where it was opened with another seed. Throws a ScriptError for any other value.
std::shared_ptr<ScriptData> data_at(lua_State* L, int index, std::uint64_t seed);

}  // namespace baleen
