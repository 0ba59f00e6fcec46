/// \file From Lua tables of options to what the plan understands: option values and schedules.
#pragma once
#include <string>

#include "compiler/plan/job.hpp"
#include "frontend/lua/arguments.hpp"

namespace baleen {

/// Options and schedules of a member or of a parameter group.
struct MemberOptions {
  UserValues values;
  std::map<std::string, Schedule> schedules;
};

/// Reads the options table at `index` (absent: none). `what` ("optimizer `x`") names the member in messages,
/// `where` its place in the script. Functions become schedules of a run of `steps` steps; they throw ScriptError
/// when they fail.
MemberOptions read_options(lua_State* L, int index, const std::string& what, const std::string& where,
                           std::int64_t steps);

}  // namespace baleen
