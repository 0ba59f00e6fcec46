/// \file Throws what is no std::exception out of its start function.
#include "compute.hpp"

BALEEN_BAD_DESCRIPTOR("throws_int");

extern "C" BALEEN_EXPORT baleen_status_t baleen_plugin_start(const baleen_host_t*, void*) { throw 42; }
