/// \file What a training loop may do: step, evaluate, run programs by name, save.
#include "frontend/lua/bind_run.hpp"

#include <array>
#include <utility>

#include "baleen/dtype.hpp"
#include "frontend/lua/arguments.hpp"
#include "frontend/lua/number_array.hpp"

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

/// While it lives, the run works for the script. What the script computes afterwards is watched anew; after a call by
/// the library's loop it is the callback of this name.
class RunCall {
 public:
  explicit RunCall(lua_State* L, const char* callback = nullptr) : watchdog_(LuaState::of(L).watchdog()) {
    watchdog_.pause();
    const auto& callbacks = LuaState::of(L).callbacks;
    if (!callback || callbacks.empty() || !is_called_by_library(L)) return;
    const auto found = callbacks.find(callback);
    next_ = found == callbacks.end() ? callbacks.at("") : found->second;
  }
  ~RunCall() { watchdog_.restart(std::move(next_)); }
  RunCall(const RunCall&) = delete;
  RunCall& operator=(const RunCall&) = delete;

 private:
  static bool is_called_by_library(lua_State* L) {
    lua_Debug caller{};
    return lua_getstack(L, 1, &caller) && lua_getinfo(L, "S", &caller) && caller.source[0] == '=';
  }

  Watchdog& watchdog_;
  Watchdog::Shared next_;
};

void push_facts(lua_State* L, const TrainingRun::Facts& facts) {
  lua_createtable(L, 0, static_cast<int>(facts.size()) + 1);
  for (const auto& [name, value] : facts) {
    lua_pushnumber(L, value);
    lua_setfield(L, -2, name.c_str());
  }
}

int step(lua_State* L) {
  TrainingRun& run = run_of(L);
  if (const Arguments arguments(L, "step"); !arguments.absent(2))
    throw ScriptError(invalid("step: it takes nothing and makes one step, but is given " + describe_value(L, 2) +
                              "; call it once for each step"));
  const RunCall call(L, "on_step");
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
  const RunCall call(L, "on_evaluate");
  push_facts(L, unwrap(run.evaluate(batches)));
  lua_pushinteger(L, run.steps_done());
  lua_setfield(L, -2, "step");
  return 1;
}

void push_types(lua_State* L, const std::vector<NamedType>& types) {
  lua_newtable(L);
  for (const auto& [name, type] : types) {
    lua_newtable(L);
    push_text(L, dtype_name(type.dtype));
    lua_setfield(L, -2, "dtype");
    push_integers(L, type.shape);
    lua_setfield(L, -2, "shape");
    lua_setfield(L, -2, name.c_str());
  }
}

/// run.programs: by name { inputs, outputs }, each by name { dtype, shape }.
void push_programs(lua_State* L, const TrainingRun& run) {
  lua_newtable(L);
  for (const ProgramInfo& program : run.programs()) {
    lua_newtable(L);
    push_types(L, program.inputs);
    lua_setfield(L, -2, "inputs");
    push_types(L, program.outputs);
    lua_setfield(L, -2, "outputs");
    lua_setfield(L, -2, program.name.c_str());
  }
}

/// run:run(program, inputs): arrays by name.
int run_program(lua_State* L) {
  TrainingRun& run = run_of(L);
  const Arguments arguments(L, "run");
  const std::string program = arguments.text(2, "program");
  if (!lua_istable(L, 3)) arguments.refuse(3, "inputs", "a table of numbers by name, as in { tokens = { 1, 2 } }");
  TrainingRun::Inputs inputs;
  for (lua_pushnil(L); lua_next(L, 3) != 0; lua_pop(L, 1)) {
    if (lua_type(L, -2) != LUA_TSTRING)
      throw ScriptError(invalid("run: inputs are given by name, as in { tokens = { 1, 2 } }"));
    const std::string name = lua_tostring(L, -2);
    inputs[name] = numbers_at(L, lua_gettop(L), "run: input `" + name + "`");
  }
  const RunCall call(L);
  TrainingRun::Outputs outputs = unwrap(run.run(program, inputs));
  lua_createtable(L, 0, static_cast<int>(outputs.size()));
  for (auto& [name, array] : outputs) {
    push_array(L, std::move(array));
    lua_setfield(L, -2, name.c_str());
  }
  return 1;
}

/// Pushes what the library gives runs in Lua; false where it has no such function.
bool push_library_function(lua_State* L, const std::string& key) {
  if (key != "logits") return false;
  LuaState::of(L).push_library_require();
  lua_pushstring(L, "baleen.generate");
  lua_call(L, 1, 1);
  lua_getfield(L, -1, key.c_str());
  return true;
}

int save(lua_State* L) {
  TrainingRun& run = run_of(L);
  const std::string path = Arguments(L, "save").text(2, "path");
  const RunCall call(L);
  unwrap(run.save(path));
  return 0;
}

/// run:checkpoint()
int checkpoint(lua_State* L) {
  TrainingRun& run = run_of(L);
  const RunCall call(L);
  unwrap(run.checkpoint());
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
  else if (key == "run")
    lua_pushcfunction(L, &guarded<&run_program>);
  else if (key == "programs")
    push_programs(L, run_of(L));
  else if (key == "save")
    lua_pushcfunction(L, &guarded<&save>);
  else if (key == "checkpoint")
    lua_pushcfunction(L, &guarded<&checkpoint>);
  else if (!push_library_function(L, key))
    throw ScriptError(invalid("a run has no `" + key +
                              "`; it has step, step_count, evaluate, run, programs, logits, save and checkpoint"));
  return 1;
}

int print_run(lua_State* L) {
  const TrainingRun* run = LuaState::of(L).run;
  push_text(L, run ? "run after " + std::to_string(run->steps_done()) + " steps" : std::string("run (over)"));
  return 1;
}

}  // namespace

void bind_run(lua_State* L) {
  make_array_type(L);
  luaL_newmetatable(L, kType);
  set_functions(L, std::array<Function, 2>{{{"__index", &guarded<&index_run>}, {"__tostring", &guarded<&print_run>}}});
  lua_pop(L, 1);
}

void push_run(lua_State* L) {
  lua_newuserdatauv(L, 1, 0);
  luaL_setmetatable(L, kType);
}

}  // namespace baleen
