/// \file The functions that the library's Lua files get from the core, by noun.
#pragma once
#include "frontend/lua/arguments.hpp"

namespace baleen {

/// Each adds to the table on the top of the stack.
void bind_graph(lua_State* L);  ///< an op each: sum, reshape, slice, …
/// A function for each kind that has a schema, less those that other kinds' rules alone make. Its arguments are the
/// operands, then a table of attributes. The registry outlives the state.
void bind_kinds(lua_State* L, const OpRegistry& registry);
/// Shorter forms of some of those, in their places. After `bind_kinds`.
void bind_short_forms(lua_State* L);
bool has_short_form(const std::string& kind);
void bind_pointwise(lua_State* L);  ///< an opcode each, `pointwise`, random numbers and constants
void bind_parameter(lua_State* L);  ///< parameters and the layers' scopes
void bind_parallel(lua_State* L);   ///< annotations
void bind_data(lua_State* L);       ///< data sets
void bind_message(lua_State* L);    ///< failing, places, nearest words, text for terminals
void bind_files(lua_State* L);      ///< JSON files

}  // namespace baleen
