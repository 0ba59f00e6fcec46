/// \file Builds that tests make go through the compiler cache, where there is one.
#pragma once
#include <string>
#include <vector>

#include "support/process.hpp"

namespace baleen::test {

/// "NAME=value" words for an environment in which CMake configures and builds below `folder`. What is compiled there is
/// found again whatever that folder is called; empty where there is no ccache.
inline std::vector<std::string> compiler_cache(const std::string& folder) {
  if (run_process({"ccache", "--version"}).exit_code != 0) return {};
  return {"CMAKE_C_COMPILER_LAUNCHER=ccache", "CMAKE_CXX_COMPILER_LAUNCHER=ccache", "CCACHE_BASEDIR=" + folder,
          "CCACHE_NOHASHDIR=1", "CCACHE_SLOPPINESS=include_file_mtime,include_file_ctime"};
}

}  // namespace baleen::test
