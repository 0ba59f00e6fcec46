/// \file What a training loop may do: step, evaluate, ask the model for logits, save.
#include "frontend/lua/bind_run.hpp"

#include <algorithm>
#include <array>

#include "frontend/lua/arguments.hpp"

namespace baleen {
namespace {

constexpr const char* kType = "baleen.run";

TrainingRun& run_of(lua_State* L) {
  TrainingRun* run = LuaState::of(L).run;
  if (!luaL_testudata(L, 1, kType))
    throw ScriptError(invalid("the run's functions are called with a colon, as in run:step()"));
  if (!run) throw ScriptError(invalid("the run is over"));
  return *run;
}

void push_facts(lua_State* L, const TrainingRun::Facts& facts) {
  lua_createtable(L, 0, static_cast<int>(facts.size()) + 1);
  for (const auto& [name, value] : facts) {
    lua_pushnumber(L, value);
    lua_setfield(L, -2, name.c_str());
  }
}

int step(lua_State* L) {
  TrainingRun& run = run_of(L);
  push_facts(L, unwrap(run.step()));
  lua_pushinteger(L, run.steps_done());
  lua_setfield(L, -2, "step");
  return 1;
}

/// run:evaluate([batches])
int evaluate(lua_State* L) {
  TrainingRun& run = run_of(L);
  const Arguments arguments(L, "evaluate");
  const std::int64_t batches = arguments.absent(2) ? 0 : arguments.integer(2, "batches");
  if (batches < 0) arguments.refuse(2, "batches", "at least 0");
  push_facts(L, unwrap(run.evaluate(batches)));
  lua_pushinteger(L, run.steps_done());
  lua_setfield(L, -2, "step");
  return 1;
}

/// run:logits(tokens): of the token that follows them. Only the last `context` tokens count.
int logits(lua_State* L) {
  TrainingRun& run = run_of(L);
  const std::int64_t context = LuaState::of(L).context;
  if (context == 0) throw ScriptError(invalid("logits: the job has no generate graph; give the job `generate = {}`"));
  const std::vector<std::int64_t> all = Arguments(L, "logits").integers(2, "tokens");
  if (all.empty()) throw ScriptError(invalid("logits: there must be at least one token before the next"));
  const auto count = std::min<std::int64_t>(context, static_cast<std::int64_t>(all.size()));
  std::vector<std::int32_t> window(all.end() - count, all.end());
  window.resize(static_cast<std::size_t>(context), 0);  // causal: what follows is not seen
  const std::vector<double> values = unwrap(run.logits(window));
  const auto vocabulary = static_cast<std::int64_t>(values.size()) / context;
  lua_createtable(L, static_cast<int>(vocabulary), 0);
  for (std::int64_t i = 0; i < vocabulary; ++i) {
    lua_pushnumber(L, values[static_cast<std::size_t>((count - 1) * vocabulary + i)]);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

int save(lua_State* L) {
  TrainingRun& run = run_of(L);
  unwrap(run.save(Arguments(L, "save").text(2, "path")));
  return 0;
}

int index_run(lua_State* L) {
  const std::string key = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
  if (key == "step_count")
    lua_pushinteger(L, run_of(L).steps_done());
  else if (key == "step")
    lua_pushcfunction(L, &guarded<&step>);
  else if (key == "evaluate")
    lua_pushcfunction(L, &guarded<&evaluate>);
  else if (key == "logits")
    lua_pushcfunction(L, &guarded<&logits>);
  else if (key == "save")
    lua_pushcfunction(L, &guarded<&save>);
  else
    throw ScriptError(invalid("a run has no `" + key + "`; it has step, step_count, evaluate, logits and save"));
  return 1;
}

int print_run(lua_State* L) {
  const TrainingRun* run = LuaState::of(L).run;
  push_text(L, run ? "run after " + std::to_string(run->steps_done()) + " steps" : std::string("run (over)"));
  return 1;
}

}  // namespace

void bind_run(lua_State* L) {
  luaL_newmetatable(L, kType);
  set_functions(L, std::array<Function, 2>{{{"__index", &guarded<&index_run>}, {"__tostring", &guarded<&print_run>}}});
  lua_pop(L, 1);
}

void push_run(lua_State* L) {
  lua_newuserdatauv(L, 1, 0);
  luaL_setmetatable(L, kType);
}

}  // namespace baleen
