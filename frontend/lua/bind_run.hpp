/// \file The run as the training loop sees it.
#pragma once
#include "frontend/lua/lua_include.hpp"

namespace baleen {

/// Makes the type.
void bind_run(lua_State* L);
/// Pushes the object `run`; it works while LuaState::run is set.
void push_run(lua_State* L);

}  // namespace baleen
