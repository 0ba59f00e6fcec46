/// \file From status codes to exit codes.
#include "frontend/cli/exit_code.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "core/log/printed.hpp"

namespace baleen::app {
namespace {

/// Whether standard output is a pipe or a terminal whose other end is closed.
bool has_no_reader() {
  pollfd output{STDOUT_FILENO, 0, 0};
  return ::poll(&output, 1, 0) > 0 && (output.revents & (POLLERR | POLLHUP)) != 0;
}

}  // namespace

int exit_code(baleen_status_t status) {
  switch (status) {
    case BALEEN_OK: return kSuccess;
    case BALEEN_INVALID:
    case BALEEN_UNSUPPORTED:
    case BALEEN_NOT_FOUND:
    case BALEEN_IO: return kBadInput;
    case BALEEN_NO_MEMORY: return kDoesNotFit;
    case BALEEN_PEER_LOST:
    case BALEEN_TIMEOUT: return kLostPeer;
    case BALEEN_INTERRUPTED: return kInterrupted;
    case BALEEN_DAMAGED: return kDamaged;
    default: return kOurBug;
  }
}

namespace {

/// Whoever met it: which limit it was.
Error with_limit(Error error) {
  const auto says = [&](const char* text) { return error.message.find(text) != std::string::npos; };
  if (says("Too many open files") && !says("ulimit")) error.message += "; raise the limit of open files, `ulimit -n`";
  return error;
}

}  // namespace

int report(const Log& log, const Error& given, RankLink* link) {
  const Error error = with_limit(given);
  const int code = exit_code(error.code);
  if (link && link->fail(error, code == kOurBug ? log.recorded() : std::vector<std::string>())) return code;
  log.failure(error.text() + (code == kOurBug ? kPleaseReport : ""));
  if (code == kOurBug || code == kLostPeer) log.dump_recorded();
  return code;
}

void open_standard_files() {
  for (const int descriptor : {0, 1, 2})
    if (::fcntl(descriptor, F_GETFD) < 0) (void)::open("/dev/null", descriptor == 0 ? O_WRONLY : O_RDONLY);
}

Status flush_output() { return print_output({}); }

Status print_output(std::string_view text) {
  print_text(text);
  const bool taken = flush_printed() && std::ferror(stdout) == 0;
  const int reason = print_failure();
  if ((taken && reason == 0) || reason == EPIPE || has_no_reader()) return {};
  const std::string why = reason ? std::string(": ") + std::strerror(reason) : std::string();
  return Error{BALEEN_IO, "standard output did not take all that was printed" + why, {}};
}

int end_output(const Log& log, int code) {
  const Status taken = flush_output();
  return taken || code != kSuccess ? code : report(log, taken.error());
}

int conclude(const Log& log, const Status& status, RankLink* link) {
  if (!status) return report(log, status.error(), link);
  if (!link) return kSuccess;
  if (const Status taken = flush_output(); !taken) return report(log, taken.error(), link);
  const Status finished = link->finish();
  return finished ? kSuccess : report(log, finished.error(), link);
}

}  // namespace baleen::app
