/// \file Fields of a table that the library's Lua files have checked already.
#pragma once
#include "frontend/lua/member_spec.hpp"

namespace baleen {

/// Getters throw ScriptError where a field is not of its type. The table stays on the stack meanwhile.
class Fields {
 public:
  explicit Fields(lua_State* L, int index, std::string of = "baleen.job")
      : L_(L), arguments_(L, std::move(of)), index_(lua_absindex(L, index)) {}

  std::int64_t integer(const char* name) const {
    lua_getfield(L_, index_, name);
    const std::int64_t value = arguments_.integer(lua_gettop(L_), name);
    lua_pop(L_, 1);
    return value;
  }
  double number(const char* name) const {
    lua_getfield(L_, index_, name);
    const double value = arguments_.number(lua_gettop(L_), name);
    lua_pop(L_, 1);
    return value;
  }
  std::string text(const char* name) const {
    lua_getfield(L_, index_, name);
    std::string value = arguments_.text(lua_gettop(L_), name);
    lua_pop(L_, 1);
    return value;
  }
  bool boolean(const char* name) const {
    lua_getfield(L_, index_, name);
    const bool value = lua_toboolean(L_, -1) != 0;
    lua_pop(L_, 1);
    return value;
  }
  std::vector<std::int64_t> integers(const char* name) const {
    lua_getfield(L_, index_, name);
    std::vector<std::int64_t> value = arguments_.integers(lua_gettop(L_), name);
    lua_pop(L_, 1);
    return value;
  }
  std::vector<std::string> texts(const char* name) const {
    lua_getfield(L_, index_, name);
    std::vector<std::string> value = arguments_.texts(lua_gettop(L_), name);
    lua_pop(L_, 1);
    return value;
  }
  /// Calls `visit` for each entry of the list `name`, which lies on the top of the stack meanwhile.
  template <class Visit>
  void each(const char* name, Visit visit) const {
    lua_getfield(L_, index_, name);
    const int list = lua_gettop(L_);
    const auto count = static_cast<lua_Integer>(lua_rawlen(L_, list));
    for (lua_Integer i = 1; i <= count; ++i) {
      lua_rawgeti(L_, list, i);
      visit(Fields(L_, -1));
      lua_settop(L_, list);
    }
    lua_pop(L_, 1);
  }
  /// Calls `visit` for the table `name`.
  template <class Visit>
  void with(const char* name, Visit visit) const {
    lua_getfield(L_, index_, name);
    visit(Fields(L_, -1));
    lua_pop(L_, 1);
  }
  MemberOptions options(const std::string& what, const std::string& where, std::int64_t steps) const {
    lua_getfield(L_, index_, "options");
    MemberOptions options = read_options(L_, -1, what, where, steps);
    lua_pop(L_, 1);
    return options;
  }

 private:
  lua_State* L_;
  Arguments arguments_;
  int index_;
};

}  // namespace baleen
