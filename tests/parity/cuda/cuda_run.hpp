/// \file Runs on the plugin cuda, emulated (tests/support/emulated_cuda).
#pragma once
#include "parity/parity_run.hpp"
#include "support/run_log.hpp"

namespace baleen::test {

inline const std::string kEmulated = "[compute]\nplugin = \"cuda\"\nlibraries = [\"" + emulated_folder() +
                                     "\"]\ncache = \"" + emulated_folder() + "/cache\"\n";

/// A model in micro-batches that draws random numbers and clips.
inline const std::vector<std::string> kSmallGpt{"layers=1",  "dim=12",      "heads=2",      "batch=4",
                                                "context=8", "dropout=0.1", "accumulate=2", "clip=0.5"};

}  // namespace baleen::test
