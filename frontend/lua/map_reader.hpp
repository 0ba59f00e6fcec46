/// \file Asks the library's maps of models, and reads what they answer.
#pragma once
#include "frontend/lua/lua_state.hpp"
#include "frontend/lua/model_map.hpp"

namespace baleen {

/// `script`: a script has described its job in this state.
Result<ModelMap> read_model_map(LuaState& state, const MapRequest& request, bool script);
Result<bool> read_is_model(LuaState& state, const std::string& folder);
Result<ModelFiles> read_model_files(LuaState& state, const std::string& folder);
Result<ExportPlan> read_export_plan(LuaState& state, const MapRequest& request,
                                    const std::vector<std::pair<std::string, std::int64_t>>& tensors,
                                    std::int64_t limit, const std::string& dtype);

}  // namespace baleen
