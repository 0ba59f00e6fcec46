/// \file Option values and schedules out of Lua.
#include "frontend/lua/member_spec.hpp"

#include <cmath>
#include <optional>

namespace baleen {
namespace {

bool is_callable(lua_State* L, int index) {
  if (lua_isfunction(L, index)) return true;
  if (luaL_getmetafield(L, index, "__call") == LUA_TNIL) return false;
  lua_pop(L, 1);
  return true;
}

/// One option's table, on the top of the stack.
class ListReader {
 public:
  ListReader(lua_State* L, std::string what) : L_(L), what_(std::move(what)), index_(lua_gettop(L)) {}

  UserValue::Data read() const {
    const auto count = static_cast<lua_Integer>(lua_rawlen(L_, index_));
    check_list(count);
    if (count == 0) return NumberTable{};
    const int type = entry_type(1);
    if (type == LUA_TSTRING) return texts(count);
    if (type == LUA_TNUMBER) return NumberTable{row(index_, count), 1, count};
    if (type == LUA_TTABLE) return rows(count);
    refuse(1);
  }

 private:
  int entry_type(lua_Integer i) const {
    const int type = lua_rawgeti(L_, index_, i);
    lua_pop(L_, 1);
    return type;
  }

  void check_list(lua_Integer count) const {
    lua_Integer keys = 0;
    for (lua_pushnil(L_); lua_next(L_, index_) != 0; lua_pop(L_, 1)) ++keys;
    if (keys != count) throw ScriptError(invalid(what_ + " must be a list without holes, and without named fields"));
  }

  [[noreturn]] void refuse(lua_Integer i) const {
    lua_rawgeti(L_, index_, i);
    throw ScriptError(invalid(what_ + " must hold only strings, only numbers or only rows of numbers, but entry " +
                              std::to_string(i) + " is " + describe_value(L_, -1)));
  }

  std::vector<std::string> texts(lua_Integer count) const {
    std::vector<std::string> list;
    for (lua_Integer i = 1; i <= count; ++i) {
      if (entry_type(i) != LUA_TSTRING) refuse(i);
      lua_rawgeti(L_, index_, i);
      list.emplace_back(lua_tostring(L_, -1));
      lua_pop(L_, 1);
    }
    return list;
  }

  std::vector<double> row(int table, lua_Integer count) const {
    std::vector<double> list;
    for (lua_Integer i = 1; i <= count; ++i) {
      if (lua_rawgeti(L_, table, i) != LUA_TNUMBER)
        throw ScriptError(invalid(what_ + " must hold numbers, but an entry is " + describe_value(L_, -1)));
      list.push_back(lua_tonumber(L_, -1));
      lua_pop(L_, 1);
    }
    return list;
  }

  NumberTable rows(lua_Integer count) const {
    NumberTable table;
    table.rows = count;
    for (lua_Integer i = 1; i <= count; ++i) {
      if (entry_type(i) != LUA_TTABLE) refuse(i);
      lua_rawgeti(L_, index_, i);
      const auto columns = static_cast<std::int64_t>(lua_rawlen(L_, -1));
      if (i == 1) table.columns = columns;
      if (columns != table.columns)
        throw ScriptError(invalid(what_ + ": row " + std::to_string(i) + " has " + std::to_string(columns) +
                                  " numbers, the rows before it have " + std::to_string(table.columns)));
      const std::vector<double> numbers = row(lua_gettop(L_), columns);
      table.numbers.insert(table.numbers.end(), numbers.begin(), numbers.end());
      lua_pop(L_, 1);
    }
    return table;
  }

  lua_State* L_;
  std::string what_;
  int index_;
};

/// The value on the top of the stack.
UserValue::Data read_value(lua_State* L, const std::string& what) {
  switch (lua_type(L, -1)) {
    case LUA_TBOOLEAN: return lua_toboolean(L, -1) != 0;
    case LUA_TNUMBER:
      if (lua_isinteger(L, -1)) return static_cast<std::int64_t>(lua_tointeger(L, -1));
      return lua_tonumber(L, -1);
    case LUA_TSTRING: return std::string(lua_tostring(L, -1), lua_rawlen(L, -1));
    case LUA_TTABLE: return ListReader(L, what).read();
    default:
      throw ScriptError(
          invalid(what + " is " + describe_value(L, -1) + "; it must be a boolean, a number, a string, or a list"));
  }
}

/// Takes the callable on the top of the stack.
Schedule make_schedule(lua_State* L, const std::string& what, const std::string& where, std::int64_t steps) {
  const auto reference = std::make_shared<LuaReference>(LuaState::of(L).shared_from_this());
  const Watchdog::Shared time = LuaState::of(L).callback(what, where);
  return [reference, what, where, steps, time](std::int64_t step) {
    lua_State* state = reference->state().get();
    std::optional<CallbackTime> watched;
    if (!reference->state().is_limited()) watched.emplace(reference->state(), time);
    const StackGuard guard(state);
    luaL_checkstack(state, 8, "schedule");
    reference->push();
    lua_pushinteger(state, step);
    lua_pushinteger(state, steps);
    unwrap(reference->state().call(2, 1));
    const double value = lua_type(state, -1) == LUA_TNUMBER ? lua_tonumber(state, -1) : std::nan("");
    if (!std::isfinite(value))
      throw ScriptError(invalid(what + " gave " + describe_value(state, -1) + " at step " + std::to_string(step) +
                                    "; a schedule must give a finite number",
                                where));
    return value;
  };
}

}  // namespace

MemberOptions read_options(lua_State* L, int index, const std::string& what, const std::string& where,
                           std::int64_t steps) {
  MemberOptions options;
  if (lua_isnoneornil(L, index)) return options;
  if (!lua_istable(L, index))
    throw ScriptError(
        invalid(what + ": the options are " + describe_value(L, index) + "; they must be a table", where));
  const int table = lua_absindex(L, index);
  for (lua_pushnil(L); lua_next(L, table) != 0; lua_pop(L, 1)) {
    if (lua_type(L, -2) != LUA_TSTRING)
      throw ScriptError(invalid(what + ": options are given by name, but one is " + describe_value(L, -2), where));
    const std::string name = lua_tostring(L, -2), title = what + ": option `" + name + "`";
    if (is_callable(L, -1)) {
      lua_pushvalue(L, -1);
      Schedule schedule = make_schedule(L, title, where, steps);
      schedule(0);  // a broken one fails here, at the user's line
      options.schedules[name] = std::move(schedule);
    } else {
      try {
        options.values[name] = UserValue{read_value(L, title), where};
      } catch (const ScriptError& error) {
        throw ScriptError(invalid(error.error().message, where));
      }
    }
  }
  return options;
}

}  // namespace baleen
