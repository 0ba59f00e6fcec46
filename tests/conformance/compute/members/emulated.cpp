/// \file The plugin cuda on emulated libraries.
#include "conformance/compute/members.hpp"

baleen::conformance::Members baleen::conformance::members() {
  return {{test::built("lib/baleen/plugins/baleen_compute_cuda.so")}, emulated_options(), true};
}
