/// \file Leaves most of its table empty.
#include "compute.hpp"

BALEEN_BAD_DESCRIPTOR("incomplete");

extern "C" BALEEN_EXPORT baleen_status_t baleen_plugin_start(const baleen_host_t*, void* table) {
  baleen::fill_table(table, failing_compute());
  return BALEEN_OK;
}
