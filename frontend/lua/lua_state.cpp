/// \file Running chunks, tracing errors back to the user's lines, and the time limit.
#include "frontend/lua/lua_state.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <iomanip>
#include <iterator>
#include <sstream>

namespace baleen {
namespace {

constexpr int kInstructionsBetweenChecks = 10'000;
constexpr int kTracedCalls = 10;
// Lua finds the n-th call by n steps, and a function that calls itself without end has 200,000.
constexpr int kCallsLookedAt = 1000;
constexpr const char* kLoaded = "baleen.loaded";
constexpr const char* kSeedRandom = "baleen.seed_random";
constexpr const char* kLibraryGlobals = "baleen.globals";

bool is_users(const char* chunk_name) { return chunk_name[0] == '@'; }

/// The length of "name:12" where a message begins with "name:12: ", or 0.
std::size_t place_length(const std::string& text) {
  for (std::size_t colon = text.find(':'); colon != std::string::npos; colon = text.find(':', colon + 1)) {
    std::size_t end = colon + 1;
    while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end]))) ++end;
    if (end > colon + 1 && text.compare(end, 2, ": ") == 0) return end;
  }
  return 0;
}

std::string seconds_text(std::chrono::milliseconds time) {
  std::ostringstream text;
  text << static_cast<double>(time.count()) / 1000.0 << " s";
  return text.str();
}

/// "2.0 s"
std::string tenths_text(std::chrono::milliseconds time) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(1) << static_cast<double>(time.count()) / 1000.0 << " s";
  return text.str();
}

Result<std::string> read_text(LuaState& state, const std::filesystem::path& file) {
  const HostWork work(state);
  const std::string name = file.string();
  std::error_code failed;
  if (!std::filesystem::exists(file, failed)) return Error{BALEEN_NOT_FOUND, "there is no such file", name};
  if (std::filesystem::is_directory(file, failed)) return invalid("this is a folder; name the Lua file in it", name);
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return Error{BALEEN_IO, "the file cannot be read", name};
  std::string text(std::istreambuf_iterator<char>(stream), {});
  if (stream.bad()) return Error{BALEEN_IO, "the file cannot be read", name};
  return text;
}

/// The library has globals of its own, since a script may give the names another meaning.
void keep_globals(lua_State* L) {
  lua_newtable(L);
  lua_pushglobaltable(L);
  for (lua_pushnil(L); lua_next(L, -2) != 0;) {
    lua_pushvalue(L, -2);
    lua_insert(L, -2);
    lua_rawset(L, -5);
  }
  lua_pop(L, 1);
  lua_setfield(L, LUA_REGISTRYINDEX, kLibraryGlobals);
}

}  // namespace

void raise(lua_State* L, Error error) {
  LuaState& host = LuaState::of(L);
  if (error.where.empty()) error.where = host.place_or_job(L);
  const std::string text = error.text();
  lua_pushlstring(L, text.data(), text.size());
  host.remember(text, error);
  lua_error(L);
  throw std::logic_error("lua_error returned");
}

Result<std::shared_ptr<LuaState>> LuaState::create(Options options) {
  std::shared_ptr<LuaState> state(new LuaState(std::move(options)));
  lua_State* L = state->state_ = lua_newstate(&LuaState::allocate, state.get());
  if (!L) return Error{BALEEN_NO_MEMORY, "no memory for a Lua state", {}};
  *static_cast<LuaState**>(lua_getextraspace(L)) = state.get();
  open_libraries(L);
  lua_newtable(L);
  lua_setfield(L, LUA_REGISTRYINDEX, kLoaded);
  lua_pushcfunction(L, &guarded<&LuaState::run_require>);
  lua_setglobal(L, "require");
  BALEEN_TRY(state->load(state->options_.library / "baleen" / "sandbox.lua", "=baleen/sandbox.lua"));
  BALEEN_TRY(state->call(0, 1));
  lua_setfield(L, LUA_REGISTRYINDEX, kSeedRandom);
  keep_globals(L);
  BALEEN_TRY(state->seed_random(state->options_.seed));
  return state;
}

void LuaState::push_library_require() {
  lua_getfield(state_, LUA_REGISTRYINDEX, kLibraryGlobals);
  lua_getfield(state_, -1, "require");
  lua_remove(state_, -2);
}

namespace {

/// What a block of the C library takes, with what it notes beside it.
std::uint64_t footprint(std::size_t bytes) {
  constexpr std::uint64_t kNote = sizeof(std::size_t), kStep = 2 * kNote;
  return bytes == 0 ? 0 : std::max<std::uint64_t>((bytes + kNote + kStep - 1) / kStep * kStep, 2 * kStep);
}

}  // namespace

/// As Lua's own, within the limit. Freeing never fails.
void* LuaState::allocate(void* self, void* block, std::size_t old_size, std::size_t size) {
  LuaState& state = *static_cast<LuaState*>(self);
  const std::uint64_t old_bytes = block ? footprint(old_size) : 0;  // else it says what kind of object is made
  if (size == 0) {
    std::free(block);
    state.held_ -= old_bytes;
    return nullptr;
  }
  const std::uint64_t bytes = footprint(size);
  if (bytes > old_bytes && state.held_ + (bytes - old_bytes) > state.options_.memory_limit) return nullptr;
  void* made = std::realloc(block, size);
  if (made) state.held_ += bytes - old_bytes;
  return made;
}

Status LuaState::seed_random(std::uint64_t seed) {
  lua_getfield(state_, LUA_REGISTRYINDEX, kSeedRandom);
  lua_pushinteger(state_, static_cast<lua_Integer>(seed));
  lua_pushinteger(state_, 0);
  return call(2, 0);
}

Status LuaState::seed_random_after(std::int64_t updates) {
  lua_getfield(state_, LUA_REGISTRYINDEX, kSeedRandom);
  lua_pushnil(state_);
  lua_pushinteger(state_, updates);
  return call(2, 0);
}

LuaState::LuaState(Options options) : options_(std::move(options)) {
  const auto tell = [this](const Watchdog::Stretch& stretch, Watchdog::Time ran) {
    if (options_.warn) options_.warn(stretch.name + " has run for " + tenths_text(ran));
  };
  const auto end = [this](const Watchdog::Stretch& stretch) {
    if (options_.stuck) options_.stuck(stretch.ended);
  };
  watchdog_ = std::make_unique<Watchdog>(Watchdog::Actions{tell, end});
}

LuaState::~LuaState() {
  watchdog_->begin(callback("a finaliser (__gc) of the script", {}));
  if (state_) lua_close(state_);
}

Status LuaState::load(const std::filesystem::path& file, const std::string& chunk_name) {
  BALEEN_TRY_ASSIGN(std::string text, read_text(*this, file));
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff"))
    return invalid("is text in UTF-16; save it in UTF-8", file.string());
  if (text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);  // a byte order mark
  if (text.starts_with("#!")) text[0] = text[1] = '-';
  if (is_users(chunk_name.c_str())) user_text_ += text + '\n';
  const int status = luaL_loadbufferx(state_, text.data(), text.size(), chunk_name.c_str(), "t");
  if (status == LUA_OK) {
    lua_Debug activation{};
    lua_pushvalue(state_, -1);
    lua_getinfo(state_, ">S", &activation);
    chunk_names_[activation.short_src] = chunk_name;
    if (!is_users(chunk_name.c_str())) {
      if (lua_getfield(state_, LUA_REGISTRYINDEX, kLibraryGlobals) == LUA_TTABLE)
        lua_setupvalue(state_, -2, 1);  // _ENV, the only one of a chunk
      else
        lua_pop(state_, 1);
    }
    return {};
  }
  const std::string message = lua_tostring(state_, -1);
  lua_pop(state_, 1);
  const std::size_t place = place_length(message);
  if (place == 0) return invalid(message, file.string());
  const std::size_t colon = message.rfind(':', place - 1);
  return invalid(message.substr(place + 2), file.string() + message.substr(colon, place - colon));
}

Status LuaState::call(int arguments, int results) {
  const int function = lua_gettop(state_) - arguments;
  lua_pushcfunction(state_, &LuaState::handle_message);
  lua_insert(state_, function);
  const int status = lua_pcall(state_, arguments, results, function);
  lua_remove(state_, function);
  if (status == LUA_OK) return {};
  lua_pop(state_, 1);
  if (status == LUA_ERRMEM)
    return invalid("the script holds more than " + std::to_string(options_.memory_limit >> 20) +
                   " MiB of memory, or there is no more; keep large data in files (baleen.data)");
  if (status == LUA_ERRERR) return internal("an error in the handling of a script's error");
  return failure_;
}

// --- modules

LuaState::Module LuaState::find_module(const std::string& name) const {
  for (char c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '.' && c != '-')
      throw ScriptError(
          invalid("require: `" + name + "` is no module name; use letters, digits, `_`, `-` and `.` for folders"));
  if (name.empty() || name.starts_with('.') || name.find("..") != std::string::npos)
    throw ScriptError(invalid("require: `" + name + "` is no module name"));
  std::string path = name;
  for (char& c : path)
    if (c == '.') c = '/';
  const bool library = path == "baleen" || path.starts_with("baleen/");
  const std::filesystem::path root = library ? options_.library : options_.folder;
  std::string tried;
  for (const std::string& file : {path + ".lua", path + "/init.lua"}) {
    const std::filesystem::path full = root / file;
    if (std::filesystem::is_regular_file(full)) return {full, library ? "=" + file : "@" + full.string()};
    tried += (tried.empty() ? "" : " and ") + full.string();
  }
  throw ScriptError(invalid("require: there is no module `" + name + "`; looked for " + tried));
}

int LuaState::run_require(lua_State* L) {
  LuaState& self = of(L);
  if (lua_type(L, 1) != LUA_TSTRING) throw ScriptError(invalid("require: give the name of a module"));
  const std::string name = lua_tostring(L, 1);
  lua_settop(L, 1);
  lua_getfield(L, LUA_REGISTRYINDEX, kLoaded);
  if (lua_getfield(L, 2, name.c_str()) == LUA_TBOOLEAN && !lua_toboolean(L, 3))
    throw ScriptError(invalid("require: module `" + name + "` requires itself"));
  if (!lua_isnil(L, 3)) return 1;
  const Module module = self.find_module(name);
  lua_pushboolean(L, false);  // being loaded
  lua_setfield(L, 2, name.c_str());
  unwrap(self.load(module.file, module.chunk_name));
  lua_pushstring(L, name.c_str());
  lua_call(L, 1, 1);
  if (lua_isnil(L, -1)) {
    lua_pop(L, 1);
    lua_pushboolean(L, true);
  }
  lua_pushvalue(L, -1);
  lua_setfield(L, 2, name.c_str());
  return 1;
}

Status LuaState::require(const std::string& name) {
  lua_pushcfunction(state_, &guarded<&LuaState::run_require>);
  lua_pushlstring(state_, name.data(), name.size());
  return call(1, 1);
}

void LuaState::provide(const char* name) {
  lua_getfield(state_, LUA_REGISTRYINDEX, kLoaded);
  lua_insert(state_, -2);
  lua_setfield(state_, -2, name);
  lua_pop(state_, 1);
}

// --- time

void LuaState::limit_time() {
  const Watchdog::Time limit = options_.time_limit;
  if (limit.count() == 0) return;
  is_limited_ = true;
  Error why = invalid("the script sits in one call for " + seconds_text(limit) +
                      " and more (a pattern, table.move, an error handler that loops?)");
  // A script that can be ended in its course has the time that this takes on a busy machine.
  const Watchdog::Time patience = std::max<Watchdog::Time>(limit / 8, std::chrono::seconds(1));
  watchdog_->begin(std::make_shared<Watchdog::Stretch>(
      Watchdog::Stretch{"the description", Watchdog::Time(0), limit, patience, std::move(why)}));
  lua_sethook(state_, &LuaState::check_time, LUA_MASKCOUNT, kInstructionsBetweenChecks);
}

void LuaState::unlimit_time() {
  is_limited_ = false;
  watchdog_->begin(nullptr);
  lua_sethook(state_, nullptr, 0, 0);
}

/// Without a hook, which would be called for every instruction: the watchdog alone looks after callbacks.
Watchdog::Shared LuaState::callback(const std::string& name, const std::string& where) const {
  const Watchdog::Time limit = options_.callback_limit;
  Error why = invalid(name + " has run for " + seconds_text(limit) + "; is there an endless loop?", where);
  return std::make_shared<Watchdog::Stretch>(Watchdog::Stretch{where.empty() ? name : name + " (" + where + ")",
                                                               options_.callback_told, limit, Watchdog::Time(0),
                                                               std::move(why)});
}

Watchdog::Shared LuaState::plugin_call(const std::string& name, const std::string& where) const {
  Watchdog::Stretch stretch = *callback(name, where);
  stretch.limit = Watchdog::Time(0);
  return std::make_shared<Watchdog::Stretch>(std::move(stretch));
}

void LuaState::check_time(lua_State* L, lua_Debug*) {
  LuaState& self = of(L);
  if (!self.is_limited_ || !self.watchdog_->is_over()) return;
  // From now on every instruction fails, so that a script that catches the error does not go on.
  lua_sethook(L, &LuaState::check_time, LUA_MASKCOUNT, 1);
  raise(L, Error{BALEEN_INVALID,
                 "the script did not finish describing its model in " + seconds_text(self.options_.time_limit) +
                     "; is there an endless loop?",
                 {}});
}

// --- errors

LuaState::Place LuaState::place(lua_State* L) const {
  Place place;
  lua_Debug activation{};
  for (int level = 0; level < kCallsLookedAt && lua_getstack(L, level, &activation); ++level) {
    lua_getinfo(L, "Sl", &activation);
    if (!is_users(activation.source) || activation.currentline < 0) continue;
    if (place.depth++ == 0)
      place.where = std::string(activation.source + 1) + ":" + std::to_string(activation.currentline);
  }
  return place;
}

std::string LuaState::place_or_job(lua_State* L) const {
  Place found = place(L);
  return found.where.empty() ? job_where : std::move(found.where);
}

/// Lua's own "name:12: text" taken apart, with the full name. A place in the library stays in the text.
Error LuaState::located(const std::string& text) const {
  const std::size_t length = place_length(text);
  const std::size_t colon = length ? text.rfind(':', length - 1) : 0;
  const auto known = chunk_names_.find(text.substr(0, colon));
  if (length == 0 || known == chunk_names_.end() || !is_users(known->second.c_str())) return invalid(text);
  return invalid(text.substr(length + 2), known->second.substr(1) + text.substr(colon, length - colon));
}

void LuaState::add_trace(lua_State* L, Error& error) const {
  std::string last = error.where;
  int listed = 0;
  lua_Debug activation{};
  for (int level = 0; level < kCallsLookedAt && listed < kTracedCalls && lua_getstack(L, level, &activation); ++level) {
    lua_getinfo(L, "Sl", &activation);
    if (!is_users(activation.source) || activation.currentline < 0) continue;
    const std::string here = std::string(activation.source + 1) + ":" + std::to_string(activation.currentline);
    if (here == last) continue;
    error.message += "\n  called from " + here;
    last = here;
    ++listed;
  }
}

Error LuaState::error_of(const std::string& text, lua_State* L) const {
  // Lua (coroutine.wrap) and scripts (error) put a place of their own before a text that they pass on.
  const bool ours = !raised_text_.empty() && text.ends_with(raised_text_);
  Error error = ours ? raised_ : located(text);
  if (error.where.empty()) error.where = place_or_job(L);
  if (error.message.find("\n  called from ") == std::string::npos) add_trace(L, error);
  return error;
}

int LuaState::handle_message(lua_State* L) {
  std::size_t size = 0;
  const bool has_text = lua_isstring(L, 1) || luaL_getmetafield(L, 1, "__tostring") != LUA_TNIL;
  if (!has_text) {
    lua_pushfstring(L, "error(%s) was called; give it a text that says what is wrong", luaL_typename(L, 1));
    lua_replace(L, 1);
  }
  const char* text = luaL_tolstring(L, 1, &size);
  constexpr std::size_t kLongest = 2048;
  std::string message(text, std::min(size, kLongest));
  if (size > kLongest) message += "... (" + std::to_string(size - kLongest) + " bytes more)";
  of(L).failure_ = of(L).error_of(message, L);
  return 1;
}

}  // namespace baleen
