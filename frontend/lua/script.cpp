/// \file Loading a script, and running its loops.
#include "frontend/lua/script.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "core/log/printed.hpp"
#include "frontend/lua/bind_run.hpp"
#include "frontend/lua/bindings.hpp"
#include "frontend/lua/job_reader.hpp"
#include "frontend/lua/lua_state.hpp"
#include "frontend/lua/map_reader.hpp"

namespace baleen {
namespace {

LuaState::Options state_options(const ScriptOptions& given, const std::filesystem::path& folder) {
  LuaState::Options options{given.library, folder, given.seed.value_or(0), given.print};
  options.time_limit = given.time_limit;
  options.callback_told = given.callback_told;
  options.callback_limit = given.callback_limit;
  options.warn = given.warn;
  options.stuck = given.stuck;
  return options;
}

/// Without comments, and without what is quoted on one line and has a slash.
std::string without_paths(std::string_view text) {
  std::string kept;
  for (std::size_t at = 0, end = 0; at < text.size(); at = end) {
    const std::size_t line_end = std::min(text.find('\n', at), text.size());
    end = at + 1;
    if (text.substr(at).starts_with("--")) {
      end = line_end;
      continue;
    }
    if (text[at] == '\'' || text[at] == '"') {
      while (end < line_end && text[end] != text[at]) end += text[end] == '\\' ? 2 : 1;
      end = end < line_end ? end + 1 : at + 1;
    }
    const std::string_view part = text.substr(at, end - at);
    if (part != "\r" && part.find('/', 1) == part.npos) kept += part;
  }
  return kept;
}

void print_line(std::string_view line) {
  print_text(std::string(line) + "\n");
  flush_printed();
}

/// Makes the modules "baleen.ops" and "baleen.core", on which the library's Lua files stand.
int open_modules(lua_State* L) {
  const auto& options = *static_cast<const ScriptOptions*>(lua_touserdata(L, 1));
  LuaState& state = LuaState::of(L);
  lua_newtable(L);
  bind_pointwise(L);
  bind_graph(L);
  bind_kinds(L, *options.ops);
  bind_short_forms(L);
  state.provide("baleen.ops");
  lua_newtable(L);
  bind_message(L);
  bind_parameter(L);
  bind_parallel(L);
  bind_data(L);
  bind_files(L);
  bind_job(L);
  bind_run(L);
  push_texts(L, options.arguments);
  lua_setfield(L, -2, "arguments");
  if (!options.load.empty()) {
    push_text(L, options.load);
    lua_setfield(L, -2, "load_path");
  }
  if (options.steps) {
    lua_pushinteger(L, *options.steps);
    lua_setfield(L, -2, "steps");
  }
  if (options.seed) {
    lua_pushinteger(L, static_cast<lua_Integer>(*options.seed));
    lua_setfield(L, -2, "seed");
  }
  lua_pushboolean(L, options.generate);
  lua_setfield(L, -2, "generate");
  lua_pushboolean(L, options.predict);
  lua_setfield(L, -2, "predict");
  state.provide("baleen.core");
  return 0;
}

}  // namespace

struct Script::Impl {
  ScriptOptions options;
  std::shared_ptr<LuaState> state;
  std::unique_ptr<LuaReference> job_table;
  DescribedJob described;

  /// Calls the C++ function that `arguments` values follow on the stack.
  static int describe(lua_State* L);
  Status open_library();
  Status load(const std::filesystem::path& file);
  /// "train.lua:8" of the job's function of this name; empty: it has none.
  std::string place_of(const char* name) const;
  bool has(const char* name) const;
  /// `callback` is what is called, for messages.
  Status call_with_run(TrainingRun& run, const Watchdog::Shared& callback, int arguments, int results);
};

/// (impl, what the script returned...)
int Script::Impl::describe(lua_State* L) {
  Impl& self = *static_cast<Impl*>(lua_touserdata(L, 1));
  const std::string returned = lua_gettop(L) < 2 ? "nothing" : describe_value(L, 2);
  if (!is_job(L, 2))
    throw ScriptError(
        invalid("the script returns " + returned + "; its last line must be `return baleen.job { ... }`"));
  lua_settop(L, 2);
  self.described = read_job(L, 2, *self.state->description);
  self.state->push_library_require();
  lua_pushstring(L, "baleen.arg");
  lua_call(L, 1, 1);
  lua_getfield(L, -1, "check");
  lua_call(L, 0, 0);
  lua_settop(L, 2);
  return 1;
}

Status Script::Impl::open_library() {
  lua_pushcfunction(state->get(), &guarded<&open_modules>);
  lua_pushlightuserdata(state->get(), &options);
  return state->call(1, 0);
}

Status Script::Impl::load(const std::filesystem::path& file) {
  lua_State* L = state->get();
  BALEEN_TRY(open_library());
  lua_pushcfunction(L, &guarded<&Impl::describe>);
  lua_pushlightuserdata(L, this);
  const int base = lua_gettop(L);
  BALEEN_TRY(state->load(file, "@" + file.string()));
  BALEEN_TRY(state->call(0, LUA_MULTRET));
  Status status = state->call(lua_gettop(L) - base + 1, 1);
  if (!status) {
    Error error = status.error();
    if (error.where.empty()) error.where = file.string();
    return error;
  }
  job_table = std::make_unique<LuaReference>(state);
  return {};
}

/// Whether the job has a field of this name.
bool Script::Impl::has(const char* name) const {
  const StackGuard guard(state->get());
  job_table->push();
  return lua_getfield(state->get(), -1, name) != LUA_TNIL;
}

std::string Script::Impl::place_of(const char* name) const {
  lua_State* L = state->get();
  const StackGuard guard(L);
  job_table->push();
  if (lua_getfield(L, -1, name) != LUA_TFUNCTION) return {};
  lua_Debug place{};
  lua_getinfo(L, ">S", &place);
  const std::string_view source = place.source;
  return std::string(source.substr(source.starts_with('@') ? 1 : 0)) + ":" + std::to_string(place.linedefined);
}

Status Script::Impl::call_with_run(TrainingRun& run, const Watchdog::Shared& callback, int arguments, int results) {
  BALEEN_TRY(state->seed_random(described.job.seed));
  state->callbacks = {{"", callback}};
  for (const char* const name : {"on_step", "on_evaluate"})
    if (const std::string where = place_of(name); !where.empty()) state->callbacks[name] = state->callback(name, where);
  state->run = &run;
  const CallbackTime watched(*state, callback);
  Status status = state->call(arguments, results);
  state->run = nullptr;
  return status;
}

Script::Script(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Script::~Script() = default;

Result<std::unique_ptr<Script>> Script::load(const std::filesystem::path& file, ScriptOptions options) {
  if (!options.print) options.print = print_line;
  auto impl = std::make_unique<Impl>();
  impl->options = std::move(options);
  const ScriptOptions& given = impl->options;
  BALEEN_TRY_ASSIGN(impl->state, LuaState::create(state_options(given, file.parent_path())));
  Description description(*given.ops, given.dtype);
  impl->state->description = &description;
  impl->state->data = &impl->options.data;
  impl->state->limit_time();
  Status status = impl->load(file);
  impl->state->unlimit_time();
  impl->state->description = nullptr;
  impl->state->data = nullptr;
  impl->state->job_where.clear();
  if (!status) return status.error();
  return std::unique_ptr<Script>(new Script(std::move(impl)));
}

Result<std::unique_ptr<Script>> Script::library(ScriptOptions options) {
  if (!options.print) options.print = print_line;
  auto impl = std::make_unique<Impl>();
  impl->options = std::move(options);
  const ScriptOptions& given = impl->options;
  BALEEN_TRY_ASSIGN(impl->state, LuaState::create(state_options(given, "")));
  BALEEN_TRY(impl->open_library());
  return std::unique_ptr<Script>(new Script(std::move(impl)));
}

Result<ModelMap> Script::model_map(const MapRequest& request) {
  return read_model_map(*impl_->state, request, impl_->job_table != nullptr);
}
Result<bool> Script::is_model(const std::string& folder) { return read_is_model(*impl_->state, folder); }
Result<ModelFiles> Script::model_files(const std::string& folder) { return read_model_files(*impl_->state, folder); }
Result<ExportPlan> Script::plan_export(const MapRequest& request,
                                       const std::vector<std::pair<std::string, std::int64_t>>& tensors,
                                       std::int64_t limit, const std::string& dtype) {
  return read_export_plan(*impl_->state, request, tensors, limit, dtype);
}

Job& Script::job() { return impl_->described.job; }
std::int64_t Script::steps() const { return impl_->described.steps; }
std::int64_t Script::evaluate_batches() const { return impl_->described.evaluate_batches; }
const std::vector<std::string>& Script::doubts() const { return impl_->described.doubts; }
const std::optional<UserValues>& Script::checkpoint() const { return impl_->described.checkpoint; }
const std::shared_ptr<ScriptData>& Script::data() const { return impl_->described.data; }

std::string Script::loop_lines() const {
  std::string lines;
  for (const auto& [table, values] : impl_->described.loop)
    for (const auto& [name, value] : values) {
      std::string text = value.text();
      for (std::size_t at = 0; (at = text.find('\n', at)) != text.npos; at += 2) text.replace(at, 1, "\\n");
      lines += table + ": " + name + " = " + text + '\n';
    }
  for (const char* const name : {"loop", "on_step", "on_evaluate"})
    lines += "the job has " + std::string(impl_->has(name) ? "" : "no ") + "`" + name + "`\n";
  return lines;
}

std::string Script::text_between_steps() const {
  for (const char* const name : {"loop", "on_step", "on_evaluate"})
    if (impl_->has(name)) return without_paths(impl_->state->user_text());
  return {};
}

std::string Script::between_steps() const {
  for (const char* const name : {"loop", "on_step"})
    if (const std::string where = impl_->place_of(name); !where.empty())
      return "in " + std::string(name) + " (" + where + ")";
  return {};
}

Status Script::seed_random(std::int64_t updates) { return impl_->state->seed_random_after(updates); }

Status Script::train(TrainingRun& run) {
  lua_State* L = impl_->state->get();
  const StackGuard guard(L);
  BALEEN_TRY(impl_->state->require("baleen.train"));
  impl_->job_table->push();
  if (lua_getfield(L, -1, "loop") == LUA_TNIL)
    lua_pop(L, 1);
  else
    lua_insert(L, -2), lua_remove(L, -3);
  push_run(L);
  const std::string loop = impl_->place_of("loop");
  return impl_->call_with_run(run, impl_->state->callback(loop.empty() ? "the training loop" : "loop", loop), 2, 0);
}

Result<std::string> Script::generate(TrainingRun& run, const GenerateOptions& options) {
  lua_State* L = impl_->state->get();
  const StackGuard guard(L);
  BALEEN_TRY(impl_->state->require("baleen.generate"));
  lua_getfield(L, -1, "write");
  lua_remove(L, -2);
  impl_->job_table->push();
  push_run(L);
  lua_createtable(L, 0, 6);
  if (!options.prompt.empty()) {
    push_text(L, options.prompt);
    lua_setfield(L, -2, "prompt");
  }
  lua_pushinteger(L, options.tokens);
  lua_setfield(L, -2, "tokens");
  lua_pushnumber(L, options.temperature);
  lua_setfield(L, -2, "temperature");
  lua_pushinteger(L, options.top_k);
  lua_setfield(L, -2, "top_k");
  lua_pushnumber(L, options.top_p);
  lua_setfield(L, -2, "top_p");
  push_text(L, options.stop);
  lua_setfield(L, -2, "stop");
  BALEEN_TRY(impl_->call_with_run(run, impl_->state->callback("the writing of text", {}), 3, 1));
  std::size_t size = 0;
  const char* text = lua_tolstring(L, -1, &size);
  return std::string(text, size);
}

}  // namespace baleen
