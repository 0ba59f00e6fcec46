/// \file A Lua state that is safe to run a user's script in: no files, no binary chunks, no endless description,
/// and errors that say where in the script they come from.
#pragma once
#include <chrono>
#include <exception>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "baleen/caught.hpp"
#include "frontend/lua/interfaces.hpp"
#include "frontend/lua/lua_include.hpp"
#include "frontend/lua/script_error.hpp"
#include "frontend/lua/watchdog.hpp"

namespace baleen {

class Description;

/// Owns the state. [one thread]
class LuaState : public std::enable_shared_from_this<LuaState> {
 public:
  struct Options {
    std::filesystem::path library;  ///< the folder that holds `baleen/init.lua`
    std::filesystem::path folder;   ///< where `require` finds the script's own modules
    std::uint64_t seed = 0;         ///< of math.random and of data, until the job says otherwise
    std::function<void(std::string_view line)> print;
    std::uint64_t memory_limit = 960ull << 20;  ///< bytes of all that the script holds; the process stays below 1 GiB
    Watchdog::Time time_limit{0};               ///< this and what follows: see ScriptOptions
    Watchdog::Time callback_told{0};
    Watchdog::Time callback_limit{0};
    std::function<void(std::string_view text)> warn{};
    std::function<void(const Error& why)> stuck{};
  };
  /// Opens the safe part of the standard libraries and the library's own changes to them.
  static Result<std::shared_ptr<LuaState>> create(Options options);
  ~LuaState();
  LuaState(const LuaState&) = delete;
  LuaState& operator=(const LuaState&) = delete;

  lua_State* get() const { return state_; }
  /// The host of a running function.
  static LuaState& of(lua_State* L) { return **static_cast<LuaState**>(lua_getextraspace(L)); }
  const Options& options() const { return options_; }

  /// The user's files that were loaded, in their order.
  const std::string& user_text() const { return user_text_; }
  /// Pushes the chunk of a text file. `chunk_name` begins with '@' for the user's files, with '=' for the
  /// library's. The error is what the file lacks, or the first syntax error.
  Status load(const std::filesystem::path& file, const std::string& chunk_name);
  /// Calls the function below `arguments` values with a traceback. On failure nothing is pushed.
  Status call(int arguments, int results);
  /// Pushes the module `name`; runs it first where nobody asked for it before.
  Status require(const std::string& name);
  /// Pushes `require` as the library has it, whatever the script makes of the name.
  void push_library_require();
  /// Makes the value on the top of the stack the module `name`, and pops it.
  void provide(const char* name);

  /// math.random begins anew.
  Status seed_random(std::uint64_t seed);
  /// The same from that seed, or the one that the script has set since, and how often parameters were updated.
  Status seed_random_after(std::int64_t updates);

  /// Calls fail with "the script did not finish describing its model in N s" after Options::time_limit of the
  /// script's own time.
  void limit_time();
  void unlimit_time();
  bool is_limited() const { return is_limited_; }
  /// What is called by the run: `name` ("on_step") is that of the function or option that stands at `where`. One that
  /// runs on is told, and ended beyond Options::callback_limit.
  Watchdog::Shared callback(const std::string& name, const std::string& where) const;
  /// The same of a short call of a plugin from that place, which has no limit.
  Watchdog::Shared plugin_call(const std::string& name, const std::string& where) const;
  Watchdog& watchdog() { return *watchdog_; }

  /// "train.lua:12" of the innermost frame that stands in the user's files, and how many such frames there are.
  /// `level` of the stack is the first that is looked at.
  struct Place {
    std::string where;
    int depth = 0;
  };
  Place place(lua_State* L) const;
  /// The place above, or that of the job where no frame stands in the user's files.
  std::string place_or_job(lua_State* L) const;

  /// While the job is described, where it stands: the place of errors that no line of the script has.
  std::string job_where;
  /// What a running script describes, drives, and gets its data from; null where it does not.
  Description* description = nullptr;
  TrainingRun* run = nullptr;
  const DataFactory* data = nullptr;
  /// While `run` is set: the job's callbacks by name, and under "" what is around them.
  std::map<std::string, Watchdog::Shared, std::less<>> callbacks;

  /// Keeps the code of an error that is about to be raised as `text`.
  void remember(const std::string& text, const Error& error) { raised_text_ = text, raised_ = error; }

 private:
  explicit LuaState(Options options);
  struct Module {
    std::filesystem::path file;
    std::string chunk_name;
  };
  static void* allocate(void* self, void* block, std::size_t old_size, std::size_t size);
  static int handle_message(lua_State* L);
  static void check_time(lua_State* L, lua_Debug* activation);
  static int run_require(lua_State* L);
  Module find_module(const std::string& name) const;
  Error error_of(const std::string& text, lua_State* L) const;
  Error located(const std::string& text) const;
  void add_trace(lua_State* L, Error& error) const;

  Options options_;
  lua_State* state_ = nullptr;
  bool is_limited_ = false;
  std::uint64_t held_ = 0;                          ///< bytes
  std::map<std::string, std::string> chunk_names_;  ///< by the form that Lua shortens for its messages
  std::string user_text_;
  std::string raised_text_;
  Error raised_;
  Error failure_;
  std::unique_ptr<Watchdog> watchdog_;  ///< the last member: its thread uses the others
};

/// While it lives, the host works for the script: opens data, prints. That is not the script's time.
class HostWork {
 public:
  explicit HostWork(LuaState& state) : watchdog_(state.watchdog()), paused_(watchdog_.pause()) {}
  ~HostWork() {
    if (paused_) watchdog_.resume();
  }
  HostWork(const HostWork&) = delete;
  HostWork& operator=(const HostWork&) = delete;

 private:
  Watchdog& watchdog_;
  bool paused_;
};

/// While it lives, Lua runs for a callback, or a plugin is called for a moment; what is around it rests.
class CallbackTime {
 public:
  CallbackTime(LuaState& state, Watchdog::Shared callback)
      : watchdog_(state.watchdog()), before_(watchdog_.begin(std::move(callback))) {}
  ~CallbackTime() { watchdog_.restore(std::move(before_)); }
  CallbackTime(const CallbackTime&) = delete;
  CallbackTime& operator=(const CallbackTime&) = delete;

 private:
  Watchdog& watchdog_;
  Watchdog::Watched before_;
};

/// Opens the libraries and takes away what a script must not have. The state's extra space is set.
void open_libraries(lua_State* L);

/// Raises `error` in Lua, with the script's place where it has none.
[[noreturn]] void raise(lua_State* L, Error error);

/// The one gate between Lua and our functions: no exception but Lua's own passes.
template <int (*Function)(lua_State*)>
int guarded(lua_State* L) {
  Error error;
  try {
    return Function(L);
  } catch (const ScriptError& e) {
    error = e.error();
  } catch (const std::exception&) {
    error = sdk::caught_error();
  }
  raise(L, std::move(error));
}

/// Restores the stack's height.
class StackGuard {
 public:
  explicit StackGuard(lua_State* L) : L_(L), top_(lua_gettop(L)) {}
  ~StackGuard() { lua_settop(L_, top_); }
  StackGuard(const StackGuard&) = delete;
  StackGuard& operator=(const StackGuard&) = delete;

 private:
  lua_State* L_;
  int top_;
};

/// A Lua value that C++ keeps; the state lives at least as long.
class LuaReference {
 public:
  /// Takes the value on the top of the stack.
  explicit LuaReference(std::shared_ptr<LuaState> state)
      : state_(std::move(state)), key_(luaL_ref(state_->get(), LUA_REGISTRYINDEX)) {}
  ~LuaReference() { luaL_unref(state_->get(), LUA_REGISTRYINDEX, key_); }
  LuaReference(const LuaReference&) = delete;
  LuaReference& operator=(const LuaReference&) = delete;

  void push() const { lua_rawgeti(state_->get(), LUA_REGISTRYINDEX, key_); }
  LuaState& state() const { return *state_; }

 private:
  std::shared_ptr<LuaState> state_;
  int key_;
};

}  // namespace baleen
