/// \file What a program of the suite runs on. Each program links one source of the folder members.
#pragma once
#include <string>
#include <vector>

#include "support/places.hpp"

namespace baleen::conformance {

struct Members {
  std::vector<std::string> plugins;  ///< paths of compute plugins
  std::string options;               ///< of every device, "name=value" separated by '|'
  bool emulated = false;             ///< the devices are those of tests/support/emulated_cuda
};
Members members();

/// Options that make the plugin cuda take the emulated libraries.
inline std::string emulated_options() {
  return "libraries=" + test::emulated_folder() + "|cache=" + test::emulated_folder() + "/cache";
}

}  // namespace baleen::conformance
