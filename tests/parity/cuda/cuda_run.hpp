/// \file Runs on the plugin cuda, emulated (tests/support/emulated_cuda).
#pragma once
#include "parity/parity_run.hpp"
#include "support/run_log.hpp"

namespace baleen::test {

inline const std::string kEmulated = "[compute]\nplugin = \"cuda\"\nlibraries = [\"" + emulated_folder() +
                                     "\"]\ncache = \"" + emulated_folder() + "/cache\"\n";

}  // namespace baleen::test
