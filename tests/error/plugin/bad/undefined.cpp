/// \file Needs a function that no library has.
#include "compute.hpp"

BALEEN_BAD_DESCRIPTOR("undefined");

extern "C" baleen_status_t function_that_nobody_defines(void*);

extern "C" BALEEN_EXPORT baleen_status_t baleen_plugin_start(const baleen_host_t*, void* table) {
  return function_that_nobody_defines(table);
}
