/// \file A small job that is put together from members and their options, and what one run of it shows.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "parity/parity_run.hpp"
#include "support/process.hpp"
#include "support/running_job.hpp"

namespace baleen::test::options {

/// Options of one member by name, as a user writes them where Lua and TOML agree: `3`, `true`, `"text"`, `["a", "b"]`.
using Options = std::map<std::string, std::string>;

/// An option that is left out.
inline const std::string kUnset;

/// A literal of a text.
inline std::string text(const std::string& words) { return "\"" + words + "\""; }
/// A literal of a list.
std::string list(const std::vector<std::string>& texts);

/// What is run. Members that stand in the script are `optimizer` and `data`; all others are in the manifest.
struct Job {
  MeshAxes mesh{{"data", 1}};
  std::string hosts;  ///< a TOML list; "": this machine has all ranks
  std::string optimizer = "sgd", data = "table";
  Options optimizer_options{}, data_options{};
  std::map<std::string, Options> plan{};  ///< strategies with their options, in order of names
  std::string compute, transport;         ///< "": the usual one
  std::string offload;                    ///< the store, of a plan that needs it; "": none
  std::string launcher;                   ///< "": the usual one
  Options compute_options{}, transport_options{}, offload_options{}, launcher_options{};
  std::map<std::string, Options> monitors{};
  std::string groups;                    ///< a Lua list of the optimizer's groups; "": none
  std::string script;                    ///< of tests/parity; "": a job of a layer or two, with the data above
  std::vector<std::string> arguments{};  ///< of that script: "heads=4"
  int steps = 3, accumulate = 1;
  std::vector<std::string> environment{};

  /// The member gets these options, and stands in the job.
  Job with(const std::string& kind, const std::string& name, const Options& options) const;
  Job with_group(const Options& options) const;  ///< of parameters that are matrices
};

/// Runs `baleen COMMAND` on the job. `folder` gets its files, and is where it runs.
ProcessResult run(const Job& job, const std::vector<std::string>& command, const std::string& folder);
/// The words of that command.
std::vector<std::string> command_of(const Job& job, const std::vector<std::string>& command, const std::string& folder);

/// What a job shows, as text that is the same whenever the same job runs.
using View = std::function<std::string(const Job&)>;

/// What is seen of a run that has made three steps and goes on.
std::string seen_of_a_run(Job job, const std::function<std::string(const RunningJob&)>& look);
/// All that the log of a run has but times; "exit 2: what was said" where it is refused.
std::string numbers(const Job& job);
/// What `baleen plan` counts.
std::string counts(const Job& job);
/// The graph as it is run, after all passes.
std::string program(const Job& job);

}  // namespace baleen::test::options
