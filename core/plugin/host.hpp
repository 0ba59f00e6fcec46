/// \file The host table that a plugin gets: its voice in the log, and the text of its last failure.
#pragma once
#include <memory>
#include <string>

#include "baleen/host.h"
#include "baleen/result.hpp"
#include "core/log/log.hpp"

namespace baleen {

class MemberOpener;

/// One per plugin, at a fixed address. `name` ("optimizer `x`") begins its log lines and errors. `kind` is what the
/// plugin's descriptor says.
class HostTable {
 public:
  /// `opener` opens other plugins for this one (BALEEN_HOST_OPEN); null: nobody does.
  HostTable(std::string name, std::string kind, Log log, std::shared_ptr<const MemberOpener> opener);
  HostTable(const HostTable&) = delete;
  HostTable& operator=(const HostTable&) = delete;

  const baleen_host_t* get() const { return &table_; }
  const std::string& name() const { return name_; }

  /// The Error for a call that returned `status` on this thread, with the text given to `fail`. Takes the text.
  Error failure(baleen_status_t status) const;
  /// OK, or the failure whose text was given to `fail` on this thread and that no status told of. Takes the text.
  Status told() const;
  /// Drops what was told on this thread and asked for by nobody.
  static void forget();

 private:
  static void log_line(void* self, baleen_level_t level, baleen_string_t text);
  static baleen_status_t keep_failure(void* self, baleen_status_t status, baleen_string_t text);
  static const void* query(void* self, baleen_string_t name);
  static baleen_status_t open_member(void* self, baleen_string_t kind, baleen_string_t text,
                                     const baleen_settings_t* settings, const baleen_member_t** member);

  std::string name_, kind_;
  Log log_;
  std::shared_ptr<const MemberOpener> opener_;
  baleen_host_t table_;
};

}  // namespace baleen
