/// \file The plugin that is validated: from outside as a file with options, and from inside a case as an open library
/// whose every call is named and guarded.
#pragma once
#include <exception>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/plugin/registry.hpp"
#include "core/plugin/settings.hpp"
#include "frontend/validate/apart.hpp"

namespace baleen::validate {

/// What the user asked for. Nothing of the plugin has run.
struct Subject {
  const Registry* registry;  ///< borrowed: the plugins that this one may use
  Descriptor descriptor;
  UserValues values;              ///< of `--set`, checked against the descriptor
  std::vector<std::string> sets;  ///< the same as the user wrote them
  std::string folder;             ///< what relative paths are relative to
  std::filesystem::path jobs;     ///< the folder sdk/validate where it is installed
  std::filesystem::path scratch;  ///< an empty folder that goes when all cases have ended
};

/// Settings of the subject, with these values in place of the user's. Throws Failure.
SettingsStorage settings_of(const Subject& subject, const UserValues& instead = {}, std::uint64_t seed = 1);

/// A call that must succeed was refused with a reason, which is not the plugin's own bug unless it was `create`.
struct Refused : Failure {
  using Failure::Failure;
};

/// The plugin inside a case. Every call goes through it: what the plugin throws, or returns without a reason, becomes a
/// Failure that names the function, and a crash is told by the mark.
class Opened {
 public:
  /// Opens the library as a run does. Throws Failure with what a run would say.
  Opened(const Subject& subject, Mark& mark);

  const baleen_host_t* host() const { return plugin_.host(); }
  template <class Table>
  const Table& table() const {
    return *static_cast<const Table*>(plugin_.any_table());
  }

  /// The result of `function(arguments...)`; `name` is for messages: "`create`", "`create` with lr=0".
  template <class Function, class... Arguments>
  auto call(std::string_view name, Function function, Arguments... arguments) const {
    mark_.set(name);
    try {
      if constexpr (std::is_void_v<std::invoke_result_t<Function, Arguments...>>) {
        function(arguments...);
        mark_.set({});
      } else {
        const auto result = function(arguments...);
        mark_.set({});
        return result;
      }
    } catch (const std::exception& thrown) {
      throw Failure("throws an exception out of " + std::string(name) + ": " + thrown.what());
    } catch (...) {  // also what another C++ runtime throws
      throw Failure("throws an exception out of " + std::string(name));
    }
  }
  /// The same of a function that must succeed: as `fails` where it does not.
  template <class Function, class... Arguments>
  void ok(std::string_view name, Function function, Arguments... arguments) const {
    const baleen_status_t status = call(name, function, arguments...);
    if (status != BALEEN_OK) fails(name, status);
  }
  /// What it said of a call that returned `status`, which is not OK. Throws Failure where it gave no reason, or
  /// where the status is none.
  Error refusal(std::string_view name, baleen_status_t status) const;
  /// Throws that as Refused, or as Failure where the status is INTERNAL.
  [[noreturn]] void fails(std::string_view name, baleen_status_t status) const;

 private:
  Plugin plugin_;
  Mark& mark_;
};

/// A member that `create` has made of the usual arguments (host, settings). Destroyed with this.
template <class Table>
class Made {
 public:
  Made(const Opened& plugin, const baleen_settings_t* settings, std::string_view name = "`create`") : plugin_(plugin) {
    const baleen_status_t status = plugin.call(name, table().create, plugin.host(), settings, &handle_);
    if (status != BALEEN_OK) throw Refused(std::string(name) + " fails: " + plugin.refusal(name, status).message);
    if (!handle_) throw Failure(std::string(name) + " returns OK and gives no object");
  }
  Made(const Made&) = delete;
  ~Made() noexcept(false) {  // NOLINT(*exception-escape): the case's verdict
    if (std::uncaught_exceptions() == 0) plugin_.call("`destroy`", table().destroy, handle_);
  }
  const Table& table() const { return plugin_.table<Table>(); }
  void* get() const { return handle_; }

 private:
  const Opened& plugin_;
  void* handle_ = nullptr;
};

}  // namespace baleen::validate
