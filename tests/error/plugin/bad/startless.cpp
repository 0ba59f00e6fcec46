/// \file Has a descriptor, but no start function.
#include "compute.hpp"

BALEEN_BAD_DESCRIPTOR("startless");
