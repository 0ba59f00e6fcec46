/// \file The plugin cuda on a device, and the plugin cpu.
#include "conformance/compute/members.hpp"

baleen::conformance::Members baleen::conformance::members() {
  const std::string folder = test::built("lib/baleen/plugins/");
  return {{folder + "baleen_compute_cuda.so", folder + "baleen_compute_cpu.so"}, "", false};
}
