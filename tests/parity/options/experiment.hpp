/// \file What shows that an option does something: for each one or more trials, in each of which values are compared.
#pragma once
#include "parity/options/job.hpp"

namespace baleen::test::options {

/// Runs that differ in one option.
struct Trial {
  Job job;
  View view;
  std::vector<std::string> values{};  ///< literals, the first as where it is left out; empty: as the schema says
  Options around{};                   ///< further options of the member, in all runs
};

/// Of any two values some trial shows that they differ.
using Trials = std::vector<Trial>;

/// By "kind.member.option".
using Experiments = std::map<std::string, Trials>;

Experiments optimizer_experiments();
Experiments data_experiments();
Experiments strategy_experiments();
Experiments machine_experiments();  ///< compute, transports, monitors
Experiments offload_experiments();
Experiments launcher_experiments();

/// Files for data sets that last as long as this process.
const TemporaryFolder& files();

}  // namespace baleen::test::options
