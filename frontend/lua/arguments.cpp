/// \file Reads what Lua code passes, with messages for wrong arguments.
#include "frontend/lua/arguments.hpp"

#include <algorithm>

#include "frontend/lua/tensor.hpp"

namespace baleen {

std::string describe_value(lua_State* L, int index) {
  switch (lua_type(L, index)) {
    case LUA_TNONE:
    case LUA_TNIL: return "nil";
    case LUA_TBOOLEAN: return lua_toboolean(L, index) ? "true" : "false";
    case LUA_TNUMBER: {
      lua_pushvalue(L, index);
      const std::string text = lua_tostring(L, -1);
      lua_pop(L, 1);
      return "the number " + text;
    }
    case LUA_TSTRING: {
      constexpr std::size_t kLongest = 200;
      std::size_t size = 0;
      const char* text = lua_tolstring(L, index, &size);
      return "the string \"" + std::string(text, std::min(size, kLongest)) + (size > kLongest ? "...\"" : "\"");
    }
    default: break;
  }
  if (is_tensor(L, index)) return "a tensor";
  return std::string("a ") + luaL_typename(L, index);
}

void Arguments::refuse(int index, const char* what, const std::string& expected) const {
  throw ScriptError(invalid(name_ + ": `" + what + "` is " + describe_value(L_, index) + "; it must be " + expected));
}

ValueId Arguments::tensor(int index, const char* what) const {
  const TensorHandle* handle = to_tensor(L_, index);
  if (!handle) refuse(index, what, "a tensor");
  return value_of(L_, *handle, name_ + ": `" + what + "`");
}

std::int64_t Arguments::integer(int index, const char* what) const {
  int exact = 0;
  if (lua_type(L_, index) != LUA_TNUMBER) refuse(index, what, "an integer");
  const lua_Integer number = lua_tointegerx(L_, index, &exact);
  if (!exact) refuse(index, what, "an integer");
  return number;
}

double Arguments::number(int index, const char* what) const {
  if (lua_type(L_, index) != LUA_TNUMBER) refuse(index, what, "a number");
  return lua_tonumber(L_, index);
}

std::string Arguments::text(int index, const char* what) const {
  if (lua_type(L_, index) != LUA_TSTRING) refuse(index, what, "a string");
  std::size_t size = 0;
  const char* text = lua_tolstring(L_, index, &size);
  return {text, size};
}

std::vector<std::int64_t> Arguments::integers(int index, const char* what) const {
  if (lua_type(L_, index) == LUA_TNUMBER) return {integer(index, what)};
  if (!lua_istable(L_, index)) refuse(index, what, "a list of integers");
  std::vector<std::int64_t> list;
  const auto count = static_cast<lua_Integer>(lua_rawlen(L_, index));
  for (lua_Integer i = 1; i <= count; ++i) {
    lua_rawgeti(L_, index, i);
    list.push_back(integer(lua_gettop(L_), what));
    lua_pop(L_, 1);
  }
  return list;
}

std::vector<ValueId> Arguments::tensors(int index, const char* what) const {
  if (!lua_istable(L_, index)) refuse(index, what, "a list of tensors");
  std::vector<ValueId> list;
  const auto count = static_cast<lua_Integer>(lua_rawlen(L_, index));
  for (lua_Integer i = 1; i <= count; ++i) {
    lua_rawgeti(L_, index, i);
    list.push_back(tensor(lua_gettop(L_), what));
    lua_pop(L_, 1);
  }
  return list;
}

std::vector<std::string> Arguments::texts(int index, const char* what) const {
  if (!lua_istable(L_, index)) refuse(index, what, "a list of strings");
  std::vector<std::string> list;
  const auto count = static_cast<lua_Integer>(lua_rawlen(L_, index));
  for (lua_Integer i = 1; i <= count; ++i) {
    lua_rawgeti(L_, index, i);
    list.push_back(text(lua_gettop(L_), what));
    lua_pop(L_, 1);
  }
  return list;
}

std::int64_t Arguments::checked_dimension(std::int64_t number, const char* what, ValueId of) const {
  const Shape& shape = description_of(L_).graph().value(of).shape;
  const auto rank = static_cast<std::int64_t>(shape.size());
  if (number >= 1 && number <= rank) return number - 1;
  if (number <= -1 && number >= -rank) return rank + number;
  throw ScriptError(invalid(name_ + ": `" + what + "` is " + std::to_string(number) + ", but the tensor " +
                            to_string(shape) + " has the dimensions 1 to " + std::to_string(rank) +
                            " (-1 is the last)"));
}

std::int64_t Arguments::dimension(int index, const char* what, ValueId of) const {
  return checked_dimension(integer(index, what), what, of);
}

std::vector<std::int64_t> Arguments::dimensions(int index, const char* what, ValueId of) const {
  std::vector<std::int64_t> list = integers(index, what);
  for (std::int64_t& dim : list) dim = checked_dimension(dim, what, of);
  return list;
}

Description& description_of(lua_State* L) {
  Description* description = LuaState::of(L).description;
  if (!description)
    throw ScriptError(invalid("layers and ops describe the model; they cannot be called while it trains"));
  return *description;
}

std::string place_of_op(lua_State* L) {
  const LuaState::Place place = LuaState::of(L).place(L);
  const Description::Scope* scope = description_of(L).scope();
  return scope && place.depth <= scope->depth ? scope->where : place.where;
}

void push_text(lua_State* L, std::string_view text) { lua_pushlstring(L, text.data(), text.size()); }

void push_integers(lua_State* L, std::span<const std::int64_t> numbers) {
  lua_createtable(L, static_cast<int>(numbers.size()), 0);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    lua_pushinteger(L, numbers[i]);
    lua_rawseti(L, -2, static_cast<lua_Integer>(i) + 1);
  }
}

void push_texts(lua_State* L, std::span<const std::string> texts) {
  lua_createtable(L, static_cast<int>(texts.size()), 0);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    push_text(L, texts[i]);
    lua_rawseti(L, -2, static_cast<lua_Integer>(i) + 1);
  }
}

void set_functions(lua_State* L, std::span<const Function> functions) {
  for (const Function& function : functions) {
    lua_pushcfunction(L, function.function);
    lua_setfield(L, -2, function.name);
  }
}

}  // namespace baleen
