/// \file From status codes to exit codes.
#include "core/app/exit_code.hpp"

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
    default: return kOurBug;
  }
}

int report(const Log& log, const Error& error) {
  const int code = exit_code(error.code);
  if (code == kOurBug) {
    log.failure(error.text() +
                " (this is a bug of Baleen or of the plugin named; please report it with the lines below)");
  } else {
    log.failure(error.text());
  }
  if (code == kOurBug || code == kLostPeer) log.dump_recorded();
  return code;
}

}  // namespace baleen::app
