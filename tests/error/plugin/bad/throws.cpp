/// \file Throws a std::exception out of its start function.
#include <stdexcept>

#include "compute.hpp"

BALEEN_BAD_DESCRIPTOR("throws");

extern "C" BALEEN_EXPORT baleen_status_t baleen_plugin_start(const baleen_host_t*, void*) {
  throw std::runtime_error("the device is on fire");
}
