/// \file A plugin whose library is open and whose start function has filled the kind's table.
#pragma once
#include <cstdint>
#include <memory>
#include <string_view>

#include "baleen/host.h"
#include "baleen/result.hpp"
#include "core/log/log.hpp"
#include "core/plugin/descriptor.hpp"
#include "core/plugin/kinds.hpp"

namespace baleen {

class MemberOpener;

/// A cheap handle. The library stays open until the process ends (vendor libraries and thread-local destructors do not
/// survive unloading), so tables and hosts never dangle.
class Plugin {
 public:
  /// Loads the library (all symbols resolved now, none shared), then calls its start function with the host's table. A
  /// file that is open already is not started again. Fails with the library's or the plugin's own reason. `opener`
  /// opens others for it; null: it can use none. [any thread]
  static Result<Plugin> open(const Descriptor& descriptor, const Log& log,
                             std::shared_ptr<const MemberOpener> opener = nullptr);

  /// Name and version of what opens libraries.
  static std::string_view library();

  const Descriptor& descriptor() const;
  const baleen_host_t* host() const;

  /// The kind's table: `plugin.table<baleen_optimizer_t>("optimizer")`. Asking for another kind than the plugin's is an
  /// error.
  template <class Table>
  Result<const Table*> table(std::string_view kind) const {
    BALEEN_TRY_ASSIGN(const void* found, raw_table(kind, sizeof(Table)));
    return static_cast<const Table*>(found);
  }

  /// The same without looking inside: of the kind that the descriptor says.
  const void* any_table() const;

  /// The Error for a call into this plugin that returned `status` on this thread: the text given to `fail`, with the
  /// plugin's name. Takes the text, so the next failure starts clean.
  Error failure(baleen_status_t status) const;
  /// OK, or the failure.
  Status check(baleen_status_t status) const {
    if (status == BALEEN_OK) return {};
    return failure(status);
  }
  /// Calls a function of this plugin that returns no status. Fails where the plugin told of a failure meanwhile.
  template <class Call>
  auto checked_value(Call&& call) const -> Result<decltype(call())> {
    forget_failure();
    auto value = call();
    BALEEN_TRY(check_told());
    return value;
  }

 private:
  struct Loaded;
  friend struct PluginStore;
  explicit Plugin(const Loaded* loaded) : loaded_(loaded) {}
  void forget_failure() const;
  Status check_told() const;
  Result<const void*> raw_table(std::string_view kind, std::uint64_t size) const;

  const Loaded* loaded_;
};

}  // namespace baleen
