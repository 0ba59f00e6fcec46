/// \file From status codes to exit codes.
#include "frontend/cli/exit_code.hpp"

#include <fcntl.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace baleen::app {

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

int report(const Log& log, const Error& error, RankLink* link) {
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

Status flush_output() {
  const bool failed = std::ferror(stdout) != 0;
  errno = 0;
  if ((std::fflush(stdout) == 0 && !failed) || errno == EPIPE) return {};
  const std::string why = errno ? std::string(": ") + std::strerror(errno) : std::string();
  return Error{BALEEN_IO, "standard output did not take all that was printed" + why, {}};
}

int end_output(const Log& log, int code) {
  const Status taken = flush_output();
  return taken || code != kSuccess ? code : report(log, taken.error());
}

int conclude(const Log& log, const Status& status, RankLink* link) {
  if (!status) return report(log, status.error(), link);
  if (!link) return kSuccess;
  const Status finished = link->finish();
  return finished ? kSuccess : report(log, finished.error(), link);
}

}  // namespace baleen::app
