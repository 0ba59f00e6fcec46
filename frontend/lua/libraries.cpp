/// \file Which of Lua's libraries a script has.
#include "frontend/lua/lua_state.hpp"

namespace baleen {
namespace {

/// print: among what the run shows while one is driven, else to the script's own sink, which speaks on rank 0 alone.
int print(lua_State* L) {
  std::string line;
  const int count = lua_gettop(L);
  for (int i = 1; i <= count; ++i) {
    std::size_t size = 0;
    const char* text = luaL_tolstring(L, i, &size);
    line.append(i > 1 ? "\t" : "").append(text, size);
    lua_pop(L, 1);
  }
  LuaState& state = LuaState::of(L);
  const HostWork work(state);  // a terminal that is stopped takes no lines
  if (!state.run || !state.run->print(line)) state.options().print(line);
  return 0;
}

}  // namespace

void open_libraries(lua_State* L) {
  const luaL_Reg libraries[] = {{LUA_GNAME, luaopen_base},        {LUA_TABLIBNAME, luaopen_table},
                                {LUA_STRLIBNAME, luaopen_string}, {LUA_MATHLIBNAME, luaopen_math},
                                {LUA_UTF8LIBNAME, luaopen_utf8},  {LUA_COLIBNAME, luaopen_coroutine}};
  for (const luaL_Reg& library : libraries) {
    luaL_requiref(L, library.name, library.func, 1);
    lua_pop(L, 1);
  }
  lua_pushcfunction(L, &guarded<&print>);
  lua_setglobal(L, "print");
}

}  // namespace baleen
