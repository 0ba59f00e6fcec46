/// \file The host functions. They are called from C: nothing may be thrown out of them.
#include "core/plugin/host.hpp"

#include <utility>

#include "baleen/plugin.hpp"

namespace baleen {
namespace {

/// Status and text travel apart through the ABI and meet again here. Per thread, because a plugin may fail on many at
/// once.
std::string& failure_text() {
  thread_local std::string text;
  return text;
}

}  // namespace

HostTable::HostTable(std::string name, Log log)
    : name_(std::move(name)),
      log_(std::move(log)),
      table_{sizeof(baleen_host_t), this, &HostTable::log_line, &HostTable::keep_failure, &HostTable::query} {}

Error HostTable::failure(baleen_status_t status) const {
  const std::string text = std::exchange(failure_text(), {});
  if (status < BALEEN_OK || status > BALEEN_INTERNAL)
    return internal(name_ + " returned the unknown status " + std::to_string(status), text);
  if (text.starts_with(name_)) return Error{status, text, {}};  // it has said who it is
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
    failure_text().assign(view(text));
  } catch (...) {  // out of memory: the status alone must do
  }
  return status;
}

const void* HostTable::query(void*, baleen_string_t) { return nullptr; }

}  // namespace baleen
