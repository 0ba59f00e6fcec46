/// \file UCX's handlers take no argument, so the thread knows whose it is.
#include "log_tap.hpp"

#include <ucs/debug/log_def.h>

#include <cstdarg>
#include <cstdio>

namespace baleen::ucx {
namespace {

thread_local LogTap* tap_of_thread = nullptr;

ucs_log_func_rc_t handle(const char*, unsigned, const char*, ucs_log_level_t level, const ucs_log_component_config_t*,
                         const char* format, va_list arguments) {
  if (!tap_of_thread || level > UCS_LOG_LEVEL_WARN) return UCS_LOG_FUNC_RC_CONTINUE;
  char line[512];
  std::vsnprintf(line, sizeof line, format, arguments);
  tap_of_thread->add(level <= UCS_LOG_LEVEL_ERROR, line);
  return UCS_LOG_FUNC_RC_STOP;
}

}  // namespace

LogTap::LogTap(const Host& host, bool quiet) : host_(host), quiet_(quiet), outer_(tap_of_thread) {
  [[maybe_unused]] static const bool installed = [] {
    ucs_log_push_handler(&handle);
    return true;
  }();
  tap_of_thread = this;
}

LogTap::~LogTap() { tap_of_thread = outer_; }

void LogTap::add(bool severe, const std::string& line) {
  constexpr std::size_t kMost = 2000;
  if (text_.size() < kMost) text_ += (text_.empty() ? "" : "; ") + line;
  host_.log(quiet_ ? BALEEN_DEBUG : severe ? BALEEN_WARNING : BALEEN_INFO, "ucx: " + line);
}

}  // namespace baleen::ucx
