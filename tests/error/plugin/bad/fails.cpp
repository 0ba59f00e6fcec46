/// \file Fails politely at its start.
#include "compute.hpp"

BALEEN_BAD_DESCRIPTOR("fails");

extern "C" BALEEN_EXPORT baleen_status_t baleen_plugin_start(const baleen_host_t* host, void*) {
  return baleen::Host(host).fail(BALEEN_NOT_FOUND, "no such device on this machine");
}
