/// \file Arrays of numbers as Lua values.
#include "frontend/lua/number_array.hpp"

#include <array>
#include <memory>
#include <utility>

namespace baleen {
namespace {

constexpr const char* kArrayType = "baleen.array";
constexpr int kMostDimensions = 8;  ///< of a tensor

NumberArray* array_or_null(lua_State* L, int index) {
  auto** slot = static_cast<NumberArray**>(luaL_testudata(L, index, kArrayType));
  return slot ? *slot : nullptr;
}

NumberArray& array_of(lua_State* L) {
  NumberArray* array = array_or_null(L, 1);
  if (!array) throw ScriptError(invalid("an array's functions are called with a colon, as in array:values()"));
  return *array;
}

/// array:values([first, count]): a list.
int values(lua_State* L) {
  const NumberArray& array = array_of(L);
  const Arguments arguments(L, "values");
  const auto size = static_cast<std::int64_t>(array.values.size());
  const std::int64_t first = arguments.absent(2) ? 1 : arguments.integer(2, "first");
  if (first < 1 || first > size + 1) arguments.refuse(2, "first", "a number of 1 to " + std::to_string(size + 1));
  const std::int64_t count = arguments.absent(3) ? size - first + 1 : arguments.integer(3, "count");
  if (count < 0 || count > size - first + 1)
    arguments.refuse(3, "count", "a number of 0 to " + std::to_string(size - first + 1));
  lua_createtable(L, static_cast<int>(count), 0);
  for (std::int64_t i = 0; i < count; ++i) {
    lua_pushnumber(L, array.values[static_cast<std::size_t>(first - 1 + i)]);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

int index_array(lua_State* L) {
  const NumberArray& array = array_of(L);
  if (lua_type(L, 2) == LUA_TNUMBER) {
    const std::int64_t i = Arguments(L, "array").integer(2, "index");
    if (i < 1 || i > static_cast<std::int64_t>(array.values.size()))
      lua_pushnil(L);  // as a list does
    else
      lua_pushnumber(L, array.values[static_cast<std::size_t>(i - 1)]);
    return 1;
  }
  const std::string key = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
  if (key == "shape")
    push_integers(L, array.shape);
  else if (key == "values")
    lua_pushcfunction(L, &guarded<&values>);
  else
    throw ScriptError(invalid("an array has no `" + key + "`; it has shape, values and its elements by number"));
  return 1;
}

int length_of_array(lua_State* L) {
  lua_pushinteger(L, static_cast<lua_Integer>(array_of(L).values.size()));
  return 1;
}

int print_array(lua_State* L) {
  push_text(L, "array " + to_string(array_of(L).shape));
  return 1;
}

int close_array(lua_State* L) {
  auto** slot = static_cast<NumberArray**>(lua_touserdata(L, 1));
  delete *slot;
  *slot = nullptr;
  return 0;
}

/// Numbers of programs are doubles on their way.
void check_integer(lua_Integer number, const std::string& what) {
  constexpr lua_Integer kMost = lua_Integer{1} << 53;
  if (number >= -kMost && number <= kMost) return;
  throw ScriptError(invalid(what + " holds " + std::to_string(number) +
                            "; from a script come integers of up to 53 bits. Give ids of 64 bits to `baleen infer` in "
                            "a file, or let the script make them smaller"));
}

/// Adds the numbers of the value on the top of the stack.
void add_numbers(lua_State* L, const std::string& what, int depth, std::vector<double>& numbers) {
  if (lua_type(L, -1) == LUA_TNUMBER) {
    if (lua_isinteger(L, -1)) check_integer(lua_tointeger(L, -1), what);
    numbers.push_back(lua_tonumber(L, -1));
    return;
  }
  if (const NumberArray* array = array_or_null(L, -1)) {
    numbers.insert(numbers.end(), array->values.begin(), array->values.end());
    return;
  }
  if (!lua_istable(L, -1))
    throw ScriptError(invalid(what + " holds " + describe_value(L, -1) + "; it must be a list of numbers or an array"));
  if (depth == kMostDimensions)
    throw ScriptError(invalid(what + " has more than " + std::to_string(kMostDimensions) + " lists in each other"));
  const auto count = static_cast<lua_Integer>(lua_rawlen(L, -1));
  for (lua_Integer i = 1; i <= count; ++i) {
    lua_rawgeti(L, -1, i);
    add_numbers(L, what, depth + 1, numbers);
    lua_pop(L, 1);
  }
}

}  // namespace

void make_array_type(lua_State* L) {
  luaL_newmetatable(L, kArrayType);
  set_functions(L, std::array<Function, 4>{{{"__index", &guarded<&index_array>},
                                            {"__len", &guarded<&length_of_array>},
                                            {"__tostring", &guarded<&print_array>},
                                            {"__gc", &guarded<&close_array>}}});
  lua_pop(L, 1);
}

void push_array(lua_State* L, NumberArray array) {
  auto owned = std::make_unique<NumberArray>(std::move(array));
  auto** slot = static_cast<NumberArray**>(lua_newuserdatauv(L, sizeof(void*), 0));
  *slot = owned.release();
  luaL_setmetatable(L, kArrayType);
}

std::vector<double> numbers_at(lua_State* L, int index, const std::string& what) {
  const StackGuard guard(L);
  std::vector<double> numbers;
  lua_pushvalue(L, index);
  add_numbers(L, what, 0, numbers);
  return numbers;
}

}  // namespace baleen
