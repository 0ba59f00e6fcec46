/// \file Calls of scripts/lua/baleen/models/exchange.lua.
#include "frontend/lua/map_reader.hpp"

#include "frontend/lua/arguments.hpp"
#include "frontend/lua/fields.hpp"

namespace baleen {
namespace {

constexpr const char* kModule = "baleen.models.exchange";

/// The time limit of a description, for what is asked of a map: it may be the user's own.
class Limited {
 public:
  explicit Limited(LuaState& state) : state_(state) { state_.limit_time(); }
  ~Limited() { state_.unlimit_time(); }
  Limited(const Limited&) = delete;
  Limited& operator=(const Limited&) = delete;

 private:
  LuaState& state_;
};

void set_text(lua_State* L, const char* name, const std::string& text) {
  push_text(L, text);
  lua_setfield(L, -2, name);
}

/// Pushes the function of the module.
Status push_function(LuaState& state, const char* name) {
  BALEEN_TRY(state.require(kModule));
  lua_getfield(state.get(), -1, name);
  lua_remove(state.get(), -2);
  return {};
}

/// Pushes the request as a table; a map of the user's own is run for it.
Status push_request(LuaState& state, const MapRequest& request, bool script) {
  lua_State* L = state.get();
  lua_newtable(L);
  set_text(L, "path", request.path);
  set_text(L, "config", request.config);
  set_text(L, "head", request.head);
  lua_pushinteger(L, request.multiple);
  lua_setfield(L, -2, "vocab_multiple");
  lua_pushboolean(L, script);
  lua_setfield(L, -2, "script");
  if (request.map.empty()) return {};
  BALEEN_TRY(state.load(request.map, "@" + request.map.string()));
  BALEEN_TRY(state.call(0, 1));
  if (!lua_istable(L, -1))
    return invalid("the map is " + describe_value(L, -1) + "; its last line must be `return baleen.models.map { ... }`",
                   request.map.string());
  lua_setfield(L, -2, "map");
  return {};
}

/// What `read` makes of the table on the top of the stack.
template <class T, class Read>
Result<T> taken(LuaState& state, Read read) {
  try {
    T value;
    read(Fields(state.get(), -1, "a map"), value);
    return value;
  } catch (const ScriptError& error) {
    return error.error();
  }
}

TensorRule rule_of(const Fields& fields) {
  TensorRule rule;
  rule.ours = fields.text("ours");
  rule.theirs = fields.texts("theirs");
  rule.form = fields.text("form");
  const std::vector<std::string> letters = fields.texts("letters");
  const std::vector<std::int64_t> extents = fields.integers("extents");
  rule.where = fields.text("where");
  for (std::size_t i = 0; i < letters.size(); ++i) {
    if (letters[i].size() != 1 || letters[i] < "a" || letters[i] > "z")
      throw ScriptError(
          invalid("map: `" + rule.ours + "`: `sizes` names `" + letters[i] + "`; letters are a to z", rule.where));
    rule.sizes[letters[i][0]] = extents[i];
  }
  rule.stack = fields.text("stack");
  rule.padded = fields.text("padded");
  rule.copies = fields.texts("copies");
  rule.optional = fields.boolean("optional");
  return rule;
}

void read_map(const Fields& fields, ModelMap& map) {
  map.name = fields.text("map");
  map.head = fields.text("head");
  map.config = fields.text("config");
  fields.each("rules", [&](const Fields& rule) { map.rules.push_back(rule_of(rule)); });
  map.unused = fields.texts("unused");
  map.prefix = fields.text("prefix");
  map.bare = fields.boolean("bare");
  const std::vector<std::string> earlier = fields.texts("earlier"), later = fields.texts("later");
  for (std::size_t i = 0; i < earlier.size(); ++i) map.earlier.emplace_back(earlier[i], later[i]);
  map.multiple = fields.integer("multiple");
}

void read_plan(const Fields& fields, ExportPlan& plan) {
  const std::vector<std::string> names = fields.texts("names"), texts = fields.texts("texts");
  const std::vector<std::int64_t> counts = fields.integers("counts");
  for (std::size_t i = 0; i < names.size(); ++i) plan.files.emplace_back(names[i], static_cast<std::size_t>(counts[i]));
  for (std::size_t i = 0; i + 1 < texts.size(); i += 2) plan.texts.emplace_back(texts[i], texts[i + 1]);
  for (const std::string& path : fields.texts("copies")) plan.copies.emplace_back(path);
}

}  // namespace

Result<ModelMap> read_model_map(LuaState& state, const MapRequest& request, bool script) {
  const StackGuard guard(state.get());
  const Limited limited(state);
  BALEEN_TRY(push_function(state, "rules"));
  BALEEN_TRY(push_request(state, request, script));
  BALEEN_TRY(state.call(1, 1));
  return taken<ModelMap>(state, read_map);
}

Result<bool> read_is_model(LuaState& state, const std::string& folder) {
  const StackGuard guard(state.get());
  const Limited limited(state);
  BALEEN_TRY(push_function(state, "is_model"));
  push_text(state.get(), folder);
  BALEEN_TRY(state.call(1, 1));
  return lua_toboolean(state.get(), -1) != 0;
}

Result<ModelFiles> read_model_files(LuaState& state, const std::string& folder) {
  const StackGuard guard(state.get());
  const Limited limited(state);
  BALEEN_TRY(push_function(state, "files"));
  push_text(state.get(), folder);
  BALEEN_TRY(state.call(1, 1));
  return taken<ModelFiles>(state, [](const Fields& fields, ModelFiles& files) {
    files.index = fields.text("index");
    files.files = fields.texts("files");
    const std::vector<std::string> tensors = fields.texts("tensors");
    const std::vector<std::int64_t> places = fields.integers("places");
    for (std::size_t i = 0; i < tensors.size(); ++i)
      files.file_of[tensors[i]] = static_cast<std::size_t>(places[i] - 1);
  });
}

Result<ExportPlan> read_export_plan(LuaState& state, const MapRequest& request,
                                    const std::vector<std::pair<std::string, std::int64_t>>& tensors,
                                    std::int64_t limit, const std::string& dtype) {
  lua_State* L = state.get();
  const StackGuard guard(L);
  const Limited limited(state);
  BALEEN_TRY(push_function(state, "plan"));
  BALEEN_TRY(push_request(state, request, false));
  std::vector<std::string> names;
  std::vector<std::int64_t> bytes;
  for (const auto& [name, size] : tensors) {
    names.push_back(name);
    bytes.push_back(size);
  }
  push_texts(L, names);
  push_integers(L, bytes);
  lua_pushinteger(L, limit);
  push_text(L, dtype);
  BALEEN_TRY(state.call(5, 1));
  return taken<ExportPlan>(state, read_plan);
}

}  // namespace baleen
