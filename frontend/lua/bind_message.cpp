/// \file Messages: failing at the user's line, the nearest known word, a value's description.
#include <array>

#include "core/input/nearest.hpp"
#include "core/log/presentable.hpp"
#include "frontend/lua/bindings.hpp"

namespace baleen {
namespace {

/// where(): the line of the user's files that runs.
int where(lua_State* L) {
  push_text(L, LuaState::of(L).place(L).where);
  return 1;
}

/// fail(message [, where]): the error begins with the layer's path.
int fail(lua_State* L) {
  lua_settop(L, 2);
  std::string message = luaL_tolstring(L, 1, nullptr);
  std::string place = lua_isstring(L, 2) ? lua_tostring(L, 2) : "";
  if (const Description* description = LuaState::of(L).description; description && description->scope()) {
    if (!description->path().empty()) message = description->path() + ": " + message;
    if (place.empty()) place = place_of_op(L);
  }
  throw ScriptError(invalid(std::move(message), std::move(place)));
}

/// fail_damaged(message): of numbers that are not finite.
int fail_damaged(lua_State* L) {
  throw ScriptError(Error{BALEEN_DAMAGED, Arguments(L, "fail_damaged").text(1, "message"), {}});
}

/// unknown_word(what, word, known)
int unknown(lua_State* L) {
  const Arguments arguments(L, "unknown_word");
  const std::vector<std::string> known = arguments.texts(3, "known");
  push_text(L, unknown_word(arguments.text(1, "what"), arguments.text(2, "word"), known));
  return 1;
}

/// The function under the C closure. Lua drops the frame of a user's `return f {}` when f is a Lua function and keeps
/// it when f is one of ours; messages need that frame's line.
int call_entry(lua_State* L) {
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
  return lua_gettop(L);
}

/// entry(function): the same function, whose caller's line is known even where it is the last thing that the caller
/// does.
int entry(lua_State* L) {
  if (!lua_isfunction(L, 1)) Arguments(L, "entry").refuse(1, "function", "a function");
  lua_settop(L, 1);
  lua_pushcclosure(L, &guarded<&call_entry>, 1);
  return 1;
}

/// describe(value): for messages.
int describe(lua_State* L) {
  push_text(L, describe_value(L, 1));
  return 1;
}

/// presentable(what): the text as a terminal may get it.
int presentable_text(lua_State* L) {
  push_text(L, presentable(Arguments(L, "presentable").text(1, "what")));
  return 1;
}

}  // namespace

void bind_message(lua_State* L) {
  set_functions(L, std::array<Function, 7>{{{"where", &guarded<&where>},
                                            {"entry", &guarded<&entry>},
                                            {"fail", &guarded<&fail>},
                                            {"fail_damaged", &guarded<&fail_damaged>},
                                            {"unknown_word", &guarded<&unknown>},
                                            {"describe", &guarded<&describe>},
                                            {"presentable", &guarded<&presentable_text>}}});
}

}  // namespace baleen
