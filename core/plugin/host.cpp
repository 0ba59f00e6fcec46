/// \file The host functions. They are called from C: nothing may be thrown out of them.
#include "core/plugin/host.hpp"

#include <utility>

#include "baleen/per_thread.hpp"
#include "baleen/plugin.hpp"
#include "core/plugin/member_opener.hpp"

namespace baleen {
namespace {

/// Status and text travel apart through the ABI and meet again here. Per thread, because a plugin may fail on many at
/// once.
struct Told {
  baleen_status_t status = BALEEN_OK;
  std::string text;
};
Told& told_failure() {
  static sdk::PerThread<Told> told;
  return told.here();
}

}  // namespace

HostTable::HostTable(std::string name, std::string kind, Log log, std::shared_ptr<const MemberOpener> opener)
    : name_(std::move(name)),
      kind_(std::move(kind)),
      log_(std::move(log)),
      opener_(std::move(opener)),
      table_{sizeof(baleen_host_t), this,      &HostTable::log_line, &HostTable::keep_failure,
             &HostTable::query,     abi(kind_)} {}

Status HostTable::told() const {
  const baleen_status_t status = told_failure().status;
  if (status == BALEEN_OK) return {};
  return failure(status);
}

void HostTable::forget() { told_failure() = {}; }

Error HostTable::failure(baleen_status_t status) const {
  const std::string text = std::exchange(told_failure(), {}).text;
  if (status < BALEEN_OK || status > BALEEN_DAMAGED)
    return internal(name_ + " returned the unknown status " + std::to_string(status), text);
  // It has said who it is, or which other one of its kind it uses.
  if (text.starts_with(name_.substr(0, name_.find('`') + 1))) return Error{status, text, {}};
  return Error{status, name_ + ": " + (text.empty() ? "failed without a reason (its own bug)" : text), {}};
}

void HostTable::log_line(void* self, baleen_level_t level, baleen_string_t text) {
  const auto& host = *static_cast<const HostTable*>(self);
  try {
    host.log_.write(level, host.name_ + ": " + std::string(view(text)));
  } catch (...) {  // a lost line is better than a lost run
  }
}

baleen_status_t HostTable::keep_failure(void*, baleen_status_t status, baleen_string_t text) {
  try {
    told_failure().status = status;
    told_failure().text.assign(view(text));
  } catch (...) {  // out of memory: the status alone must do
  }
  return status;
}

const void* HostTable::query(void* self, baleen_string_t name) {
  static const baleen_host_open_t open = {sizeof(baleen_host_open_t), &HostTable::open_member, &release_member,
                                          &member_failure};
  return view(name) == BALEEN_HOST_OPEN && static_cast<const HostTable*>(self)->opener_ ? &open : nullptr;
}

baleen_status_t HostTable::open_member(void* self, baleen_string_t kind, baleen_string_t text,
                                       const baleen_settings_t* settings, const baleen_member_t** member) {
  const auto& host = *static_cast<const HostTable*>(self);
  return guard(Host(host.get()), [&]() -> Status {
    BALEEN_TRY_ASSIGN(*member, host.opener_->open(view(kind), view(text), *settings));
    return {};
  });
}

}  // namespace baleen
