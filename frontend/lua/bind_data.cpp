/// \file Data sets: opened while the script describes its job, so that the model can ask them for their vocabulary.
#include <array>
#include <memory>

#include "baleen/dtype.hpp"
#include "frontend/lua/bindings.hpp"
#include "frontend/lua/data_handle.hpp"
#include "frontend/lua/member_spec.hpp"

namespace baleen {
namespace {

constexpr const char* kType = "baleen.data";

struct Handle {
  MemberSpec spec;
  std::uint64_t seed;
  std::shared_ptr<ScriptData> data;
};

Result<std::shared_ptr<ScriptData>> open(lua_State* L, const MemberSpec& spec, std::uint64_t seed) {
  LuaState& state = LuaState::of(L);
  const HostWork work(state);  // a plugin may read or fetch for minutes
  return (*state.data)(spec, seed);
}

Handle& handle_at(lua_State* L, int index) {
  auto** handle = static_cast<Handle**>(luaL_testudata(L, index, kType));
  if (!handle || !*handle)
    throw ScriptError(invalid("the value is " + describe_value(L, index) + "; it must be a data set"));
  return **handle;
}

/// data(plugin, options, where)
int open_data(lua_State* L) {
  const Arguments arguments(L, "data");
  if (!LuaState::of(L).data) throw ScriptError(invalid("data can be opened only while the script describes its job"));
  MemberSpec spec;
  spec.name = arguments.text(1, "plugin");
  spec.where = arguments.text(3, "where");
  MemberOptions options = read_options(L, 2, "data `" + spec.name + "`", spec.where, 0);
  if (!options.schedules.empty())
    throw ScriptError(invalid(
        "data `" + spec.name + "`: option `" + options.schedules.begin()->first + "` is a function; data takes none",
        spec.where));
  spec.options = std::move(options.values);
  const std::uint64_t seed = LuaState::of(L).options().seed;
  auto handle = std::make_unique<Handle>(Handle{spec, seed, unwrap(open(L, spec, seed))});
  auto** slot = static_cast<Handle**>(lua_newuserdatauv(L, sizeof(void*), 0));
  *slot = handle.release();
  luaL_setmetatable(L, kType);
  return 1;
}

int close_data(lua_State* L) {
  auto** handle = static_cast<Handle**>(lua_touserdata(L, 1));
  delete *handle;
  *handle = nullptr;
  return 0;
}

/// { name, dtype, shape, axes [, length] }: `length` names the field with the lengths of its lists.
void push_field(lua_State* L, const baleen_field_t& field, const std::string& length) {
  lua_newtable(L);
  lua_pushstring(L, field.name);
  lua_setfield(L, -2, "name");
  push_text(L, dtype_name(field.dtype));
  lua_setfield(L, -2, "dtype");
  push_integers(L, std::span(field.shape, field.rank));
  lua_setfield(L, -2, "shape");
  const std::vector<std::string> axes(field.axes, field.axes + field.rank);
  push_texts(L, axes);
  lua_setfield(L, -2, "axes");
  if (length.empty()) return;
  push_text(L, length);
  lua_setfield(L, -2, "length");
}

void push_fields(lua_State* L, const ScriptData& data) {
  const baleen_dataset_info_t& info = data.info();
  lua_createtable(L, static_cast<int>(info.field_count), 0);
  for (std::uint32_t i = 0; i < info.field_count; ++i) {
    push_field(L, info.fields[i], data.length_of(i));
    lua_rawseti(L, -2, i + 1);
  }
}

/// Neither the script nor another rank would tell of a plugin that takes long.
CallbackTime time_of(lua_State* L, const Handle& handle, const std::string& call) {
  LuaState& state = LuaState::of(L);
  return CallbackTime(state, state.plugin_call("data `" + handle.spec.name + "`, " + call, state.place(L).where));
}

/// data:encode(text): ids.
int encode(lua_State* L) {
  const Handle& handle = handle_at(L, 1);
  const std::string text = Arguments(L, "encode").text(2, "string");
  const CallbackTime time = time_of(L, handle, "encode");
  const std::vector<std::int32_t> ids = unwrap(handle.data->encode(text));
  push_integers(L, std::vector<std::int64_t>(ids.begin(), ids.end()));
  return 1;
}

/// data:decode(ids): text.
int decode(lua_State* L) {
  const Handle& handle = handle_at(L, 1);
  const std::vector<std::int64_t> numbers = Arguments(L, "decode").integers(2, "ids");
  const std::vector<std::int32_t> ids(numbers.begin(), numbers.end());
  const CallbackTime time = time_of(L, handle, "decode");
  push_text(L, unwrap(handle.data->decode(ids)));
  return 1;
}

int index_data(lua_State* L) {
  const ScriptData& data = *handle_at(L, 1).data;
  const baleen_dataset_info_t& info = data.info();
  const std::string key = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
  if (key == "vocab" || key == "classes")
    lua_pushinteger(L, info.classes);
  else if (key == "rows")
    lua_pushinteger(L, info.rows[BALEEN_TRAIN]);
  else if (key == "held_out_rows")
    lua_pushinteger(L, info.rows[BALEEN_HELD_OUT]);
  else if (key == "fields")
    push_fields(L, data);
  else if (key == "unit")
    lua_pushstring(L, info.unit);
  else if (key == "summary")
    lua_pushstring(L, info.summary);
  else if (key == "encode")
    lua_pushcfunction(L, &guarded<&encode>);
  else if (key == "decode")
    lua_pushcfunction(L, &guarded<&decode>);
  else
    throw ScriptError(invalid("a data set has no field `" + key +
                              "`; it has vocab, classes, rows, held_out_rows, fields, "
                              "unit, summary, encode and decode"));
  return 1;
}

int print_data(lua_State* L) {
  const Handle& handle = handle_at(L, 1);
  push_text(L, "data `" + handle.spec.name + "`: " + handle.data->info().summary);
  return 1;
}

}  // namespace

std::shared_ptr<ScriptData> data_at(lua_State* L, int index, std::uint64_t seed) {
  Handle& handle = handle_at(L, index);
  if (handle.seed != seed) {
    handle.data = unwrap(open(L, handle.spec, seed));
    handle.seed = seed;
  }
  return handle.data;
}

void bind_data(lua_State* L) {
  lua_pushcfunction(L, &guarded<&open_data>);
  lua_setfield(L, -2, "data");
  luaL_newmetatable(L, kType);
  set_functions(L, std::array<Function, 3>{{{"__index", &guarded<&index_data>},
                                            {"__gc", &guarded<&close_data>},
                                            {"__tostring", &guarded<&print_data>}}});
  lua_pop(L, 1);
}

}  // namespace baleen
