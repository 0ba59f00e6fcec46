/// \file JSON files for scripts: read as tables, and text of tables. What is read may be anybody's: everything is
/// bounded.
#include <array>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_set>

#include "frontend/lua/bindings.hpp"

namespace baleen {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kMaxBytes = 64u << 20;
constexpr std::size_t kMaxDepth = 64;
constexpr std::size_t kMaxText = 1u << 16;

/// Builds a value on Lua's stack from the parser's events: nulls are absent keys, and false in lists.
class Builder : public nlohmann::json_sax<nlohmann::ordered_json> {
 public:
  explicit Builder(lua_State* L) : L_(L) {}
  std::string problem;

  bool null() override {
    if (open_.empty() || open_.back().list) {
      lua_pushboolean(L_, false);
    } else {
      lua_pushnil(L_);
    }
    return put();
  }
  bool boolean(bool value) override {
    lua_pushboolean(L_, value);
    return put();
  }
  bool number_integer(number_integer_t value) override {
    lua_pushinteger(L_, value);
    return put();
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (value > static_cast<number_unsigned_t>(LUA_MAXINTEGER)) {
      lua_pushnumber(L_, static_cast<lua_Number>(value));
    } else {
      lua_pushinteger(L_, static_cast<lua_Integer>(value));
    }
    return put();
  }
  bool number_float(number_float_t value, const string_t&) override {
    lua_pushnumber(L_, value);
    return put();
  }
  bool string(string_t& value) override {
    push_text(L_, value);
    return put();
  }
  bool binary(binary_t&) override { return wrong("binary data"); }
  bool start_object(std::size_t) override { return start(false); }
  bool start_array(std::size_t) override { return start(true); }
  bool key(string_t& text) override {
    if (text.size() > kMaxText) return wrong("a key of more than 65536 bytes");
    if (!open_.back().keys.insert(text).second) return wrong("the key `" + text.substr(0, 80) + "` occurs twice");
    key_ = text;
    return true;
  }
  bool end_object() override { return end(); }
  bool end_array() override { return end(); }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    return wrong("it is not JSON at byte " + std::to_string(position));
  }

 private:
  struct Open {
    bool list;
    lua_Integer count = 0;
    std::string key;  ///< under which it goes to what is around it
    std::unordered_set<std::string> keys = {};
  };

  bool wrong(std::string what) {
    problem = std::move(what);
    return false;
  }
  bool start(bool list) {
    if (open_.size() >= kMaxDepth) return wrong("it is nested more than 64 deep");
    luaL_checkstack(L_, 4, "JSON");
    open_.push_back({list, 0, key_});
    lua_newtable(L_);
    return true;
  }
  bool end() {
    key_ = open_.back().key;
    open_.pop_back();
    return put();
  }
  /// The value on the top of the stack goes to the table below it, or is the whole.
  bool put() {
    if (open_.empty()) return true;
    if (open_.back().list) {
      lua_rawseti(L_, -2, ++open_.back().count);
    } else {
      push_text(L_, key_);
      lua_insert(L_, -2);
      lua_rawset(L_, -3);
    }
    return true;
  }

  lua_State* L_;
  std::vector<Open> open_;
  std::string key_;
};

std::string text_of(lua_State* L, const std::string& path) {
  const HostWork work(LuaState::of(L));
  std::error_code failure;
  if (!fs::is_regular_file(path, failure))
    throw ScriptError({BALEEN_NOT_FOUND, fs::exists(path, failure) ? "is no file" : "there is no such file", path});
  const std::uintmax_t size = fs::file_size(path, failure);
  if (failure || size > kMaxBytes)
    throw ScriptError(invalid(failure ? failure.message() : "has more than 64 MiB; it is no description", path));
  std::ifstream file(path, std::ios::binary);
  std::string text(static_cast<std::size_t>(size), '\0');
  if (!file.read(text.data(), static_cast<std::streamsize>(size)))
    throw ScriptError({BALEEN_IO, "cannot be read", path});
  return text;
}

void push_json(lua_State* L, const std::string& text, const std::string& path) {
  const int top = lua_gettop(L);
  Builder builder(L);
  if (nlohmann::ordered_json::sax_parse(text, &builder)) return;
  lua_settop(L, top);
  throw ScriptError(invalid(builder.problem, path));
}

/// read_json(path): objects and lists as tables.
int read_json(lua_State* L) {
  const std::string path = Arguments(L, "read_json").text(1, "path");
  push_json(L, text_of(L, path), path);
  return 1;
}

/// A table with an entry 1 is a list, any other an object.
nlohmann::ordered_json json_at(lua_State* L, int index, std::size_t depth) {
  if (depth > kMaxDepth) throw ScriptError(invalid("to_json: a table is nested more than 64 deep"));
  luaL_checkstack(L, 4, "JSON");
  const int at = lua_absindex(L, index);
  switch (lua_type(L, at)) {
    case LUA_TBOOLEAN: return lua_toboolean(L, at) != 0;
    case LUA_TNUMBER:
      if (lua_isinteger(L, at)) return lua_tointeger(L, at);
      return lua_tonumber(L, at);
    case LUA_TSTRING: return std::string(lua_tostring(L, at));
    case LUA_TTABLE: break;
    default: throw ScriptError(invalid("to_json: " + describe_value(L, at) + " has no form in JSON"));
  }
  if (const auto count = static_cast<lua_Integer>(lua_rawlen(L, at)); count > 0) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (lua_Integer i = 1; i <= count; ++i) {
      lua_rawgeti(L, at, i);
      list.push_back(json_at(L, -1, depth + 1));
      lua_pop(L, 1);
    }
    return list;
  }
  std::map<std::string, nlohmann::ordered_json> sorted;
  for (lua_pushnil(L); lua_next(L, at) != 0; lua_pop(L, 1)) {
    if (lua_type(L, -2) != LUA_TSTRING)
      throw ScriptError(invalid("to_json: the key " + describe_value(L, -2) + " is no text"));
    sorted.emplace(lua_tostring(L, -2), json_at(L, -1, depth + 1));
  }
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  for (auto& [key, value] : sorted) object[key] = std::move(value);
  return object;
}

std::string dumped(const nlohmann::ordered_json& json) {
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

/// to_json(value)
int to_json(lua_State* L) {
  push_text(L, dumped(json_at(L, 1, 0)));
  return 1;
}

/// edit_json(path, values): the text of an object with these values in place of its own; its order is kept.
int edit_json(lua_State* L) {
  const std::string path = Arguments(L, "edit_json").text(1, "path");
  const std::string text = text_of(L, path);
  push_json(L, text, path);  // within bounds, or refused
  auto json = nlohmann::ordered_json::parse(text);
  if (!json.is_object()) throw ScriptError(invalid("is no object", path));
  const nlohmann::ordered_json changes = json_at(L, 2, 0);
  for (const auto& [key, value] : changes.items()) json[key] = value;
  push_text(L, dumped(json));
  return 1;
}

int is_folder(lua_State* L) {
  std::error_code failure;
  lua_pushboolean(L, fs::is_directory(Arguments(L, "is_folder").text(1, "path"), failure));
  return 1;
}

int is_file(lua_State* L) {
  std::error_code failure;
  lua_pushboolean(L, fs::is_regular_file(Arguments(L, "is_file").text(1, "path"), failure));
  return 1;
}

}  // namespace

void bind_files(lua_State* L) {
  set_functions(L, std::array<Function, 5>{{{"read_json", &guarded<&read_json>},
                                            {"to_json", &guarded<&to_json>},
                                            {"edit_json", &guarded<&edit_json>},
                                            {"is_folder", &guarded<&is_folder>},
                                            {"is_file", &guarded<&is_file>}}});
}

}  // namespace baleen
