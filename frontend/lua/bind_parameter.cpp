/// \file Layers' scopes, and parameters by the path of their layer.
#include <array>

#include "frontend/lua/bindings.hpp"

namespace baleen {
namespace {

/// enter(path, where [, tags]): ops belong to this layer until leave(count); returns the count.
int enter(lua_State* L) {
  const Arguments arguments(L, "enter");
  Description& description = description_of(L);
  Description::Scope scope{arguments.text(1, "path"), arguments.text(2, "where"), LuaState::of(L).place(L).depth, {}};
  if (description.scope()) {
    scope.tags = description.scope()->tags;
    scope.annotations = description.scope()->annotations;
  }
  if (lua_istable(L, 3)) {
    for (lua_pushnil(L); lua_next(L, 3) != 0; lua_pop(L, 1))
      scope.tags[arguments.text(lua_gettop(L) - 1, "tag")] = arguments.text(lua_gettop(L), "tag");
  }
  lua_pushinteger(L, static_cast<lua_Integer>(description.enter(std::move(scope))));
  return 1;
}

int leave(lua_State* L) {
  if (Description* description = LuaState::of(L).description)
    description->leave(static_cast<std::size_t>(Arguments(L, "leave").integer(1, "count")));
  return 0;
}

/// path(): of the present layer; "" outside of all.
int path(lua_State* L) {
  const Description* description = LuaState::of(L).description;
  push_text(L, description ? description->path() : "");
  return 1;
}

/// graph_name(): "train", "evaluate", "generate", or "" outside of the model.
int graph_name(lua_State* L) {
  const Description* description = LuaState::of(L).description;
  push_text(L, description ? description->graph_name() : "");
  return 1;
}

/// learns(): is the graph being described one that is trained?
int learns(lua_State* L) {
  const Description* description = LuaState::of(L).description;
  lua_pushboolean(L, description && description->learns());
  return 1;
}

Initializer read_initializer(const Arguments& arguments, int index) {
  lua_State* L = arguments.lua();
  if (!lua_istable(L, index)) arguments.refuse(index, "init", "an initialiser of `baleen.init`");
  auto number = [&](const char* key) {
    lua_getfield(L, index, key);
    const double value = arguments.number(lua_gettop(L), key);
    lua_pop(L, 1);
    return value;
  };
  lua_getfield(L, index, "kind");
  const std::string kind = arguments.text(lua_gettop(L), "kind");
  lua_pop(L, 1);
  if (kind == "constant") return {Initializer::Kind::constant, number("value"), 0};
  if (kind == "normal") return {Initializer::Kind::normal, number("mean"), number("deviation")};
  if (kind == "uniform") return {Initializer::Kind::uniform, number("low"), number("high")};
  throw ScriptError(invalid(arguments.name() + ": there is no initialiser `" + kind + "`"));
}

/// parameter(name, shape, axes, init): the parameter `name` of the present layer, as a tensor of the present graph.
int parameter(lua_State* L) {
  const Arguments arguments(L, "parameter");
  Description& description = description_of(L);
  ParameterSpec spec;
  spec.name = (description.path().empty() ? "" : description.path() + ".") + arguments.text(1, "name");
  spec.type.dtype = description.dtype();
  spec.type.shape = arguments.integers(2, "shape");
  spec.type.axes = arguments.texts(3, "axes");
  spec.initializer = read_initializer(arguments, 4);
  spec.where = place_of_op(L);
  for (std::int64_t extent : spec.type.shape)
    if (extent < 1)
      throw ScriptError(
          invalid(spec.name + ": a parameter cannot have the shape " + to_string(spec.type.shape), spec.where));
  if (spec.type.shape.size() > BALEEN_MAX_RANK)
    throw ScriptError(invalid(spec.name + ": the shape " + to_string(spec.type.shape) + " has more than " +
                                  std::to_string(BALEEN_MAX_RANK) + " dimensions",
                              spec.where));
  if (spec.type.axes.size() > spec.type.shape.size())
    throw ScriptError(
        invalid(spec.name + ": there are more `axes` than dimensions in " + to_string(spec.type.shape), spec.where));
  spec.type.axes.resize(spec.type.shape.size());
  push_tensor(L, description.parameter(std::move(spec)));
  return 1;
}

}  // namespace

void bind_parameter(lua_State* L) {
  set_functions(L, std::array<Function, 6>{{{"enter", &guarded<&enter>},
                                            {"leave", &guarded<&leave>},
                                            {"path", &guarded<&path>},
                                            {"graph_name", &guarded<&graph_name>},
                                            {"learns", &guarded<&learns>},
                                            {"parameter", &guarded<&parameter>}}});
}

}  // namespace baleen
