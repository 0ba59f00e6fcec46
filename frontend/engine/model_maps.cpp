/// \file Opens the Lua library for its maps.
#include "frontend/engine/model_maps.hpp"

#include "compiler/graph/op_plugin.hpp"
#include "compiler/ops/ops.hpp"
#include "frontend/engine/installation.hpp"

namespace baleen::app {

Result<ModelMaps> open_model_maps(const Setup& setup) {
  ModelMaps maps;
  maps.ops = std::make_unique<OpRegistry>();
  BALEEN_TRY(register_builtin_ops(*maps.ops));
  BALEEN_TRY(register_op_plugins(*maps.ops, setup.registry));
  baleen::ScriptOptions options;
  options.ops = maps.ops.get();
  options.library = lua_library();
  options.stuck = setup.stuck;
  BALEEN_TRY_ASSIGN(maps.library, Script::library(std::move(options)));
  return maps;
}

}  // namespace baleen::app
