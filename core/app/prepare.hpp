/// \file What `run`, `generate` and `graph` do before the script: every choice is looked up and checked while it is cheap.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "baleen/result.hpp"
#include "core/app/commands.hpp"
#include "core/app/members.hpp"

namespace baleen::app {

/// The members that the manifest and the command line choose; the script names the others.
struct Prepared {
  Member compute;
  std::vector<Member> monitors;
  std::optional<std::vector<Member>> plan;  ///< stands above the script's
  std::string folder;                       ///< of the script, without a trailing '/'
};

/// Fails for a script that is not there, a member that is unknown or has bad options, and for several ranks.
Result<Prepared> prepare(const ScriptOptions& options, const Setup& setup);

}  // namespace baleen::app
