/// \file The tensors' fields, methods and operators.
#include "frontend/lua/tensor.hpp"

#include <array>

#include "baleen/dtype.hpp"

namespace baleen {
namespace {

constexpr const char* kType = "baleen.tensor";

const Value& value_at(lua_State* L, int index) {
  const Arguments arguments(L, "tensor");
  const ValueId id = arguments.tensor(index, "self");
  return description_of(L).graph().value(id);
}

/// Fields first, then the ops as methods: x:reshape { 2, -1 }.
int index_tensor(lua_State* L) {
  const std::string key = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
  if (key == "shape") {
    push_integers(L, value_at(L, 1).shape);
  } else if (key == "rank") {
    lua_pushinteger(L, static_cast<lua_Integer>(value_at(L, 1).rank()));
  } else if (key == "dtype") {
    push_text(L, dtype_name(value_at(L, 1).dtype));
  } else if (key == "axes") {
    push_texts(L, *value_at(L, 1).axes);
  } else {
    lua_pushvalue(L, 2);
    lua_rawget(L, lua_upvalueindex(1));
    if (!lua_isnil(L, -1)) return 1;
    throw ScriptError(invalid(lua_type(L, 2) == LUA_TSTRING ? "a tensor has no field or method `" + key + "`"
                                                            : "a tensor has no entry " + describe_value(L, 2) +
                                                                  "; cut it with baleen.ops.slice"));
  }
  return 1;
}

/// "tensor fp32 [16 batch, 128 seq]"
int print_tensor(lua_State* L) {
  const TensorHandle* handle = to_tensor(L, 1);
  Description* description = LuaState::of(L).description;
  if (!description || description->graph_name().empty() || handle->serial != description->serial()) {
    lua_pushstring(L, "tensor of a finished graph");
    return 1;
  }
  const Value& value = description->graph().value(handle->value);
  std::string text = "tensor " + std::string(dtype_name(value.dtype)) + " [";
  for (std::size_t i = 0; i < value.rank(); ++i) {
    text += (i ? ", " : "") + std::to_string(value.shape[i]);
    if (!value.axis(i).empty()) text += " " + value.axis(i);
  }
  push_text(L, text + "]");
  return 1;
}

int same_tensor(lua_State* L) {
  const TensorHandle *a = to_tensor(L, 1), *b = to_tensor(L, 2);
  lua_pushboolean(L, a && b && a->serial == b->serial && a->value == b->value);
  return 1;
}

}  // namespace

const TensorHandle* to_tensor(lua_State* L, int index) {
  return static_cast<const TensorHandle*>(luaL_testudata(L, index, kType));
}

bool is_tensor(lua_State* L, int index) { return to_tensor(L, index) != nullptr; }

ValueId value_of(lua_State* L, const TensorHandle& handle, const std::string& what) {
  Description& description = description_of(L);
  description.graph();
  if (handle.serial == description.serial()) return handle.value;
  throw ScriptError(invalid(what + " is a tensor of another graph than the " + description.graph_name() +
                            " graph that is described now; make it inside the model"));
}

void push_tensor(lua_State* L, ValueId value) {
  auto* handle = static_cast<TensorHandle*>(lua_newuserdatauv(L, sizeof(TensorHandle), 0));
  *handle = {description_of(L).serial(), value};
  luaL_setmetatable(L, kType);
}

void push_tensors(lua_State* L, std::span<const ValueId> values) {
  luaL_checkstack(L, static_cast<int>(values.size()) + 4, "too many results");
  for (ValueId value : values) push_tensor(L, value);
}

void make_tensor_type(lua_State* L) {
  luaL_newmetatable(L, kType);
  lua_pushvalue(L, -2);
  lua_pushcclosure(L, &guarded<&index_tensor>, 1);
  lua_setfield(L, -2, "__index");
  set_functions(L,
                std::array<Function, 2>{{{"__tostring", &guarded<&print_tensor>}, {"__eq", &guarded<&same_tensor>}}});
  lua_pushstring(L, "tensor");
  lua_setfield(L, -2, "__name");
  lua_pop(L, 1);
}

}  // namespace baleen
