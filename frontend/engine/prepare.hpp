/// \file What `run`, `generate` and `graph` do before the script: every choice is looked up,
/// checked and opened before the first line of Lua.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "baleen/result.hpp"
#include "compiler/layout/layout.hpp"
#include "core/plugin/plugin.hpp"
#include "frontend/engine/members.hpp"
#include "frontend/engine/setup.hpp"

namespace baleen::app {

/// A chosen member whose library is open.
struct Opened {
  Member member;
  Plugin plugin;
};

/// How ranks will talk to each other.
struct PreparedTransport {
  std::optional<Opened> transport;  ///< with several ranks
  Mesh mesh;                        ///< without axes: one rank
};

/// The members that the manifest and the command line choose; the script names the others.
struct Prepared : PreparedTransport {
  Opened compute;
  std::vector<Opened> monitors;
  std::optional<std::vector<Opened>> plan;  ///< stands above the script's
  std::string folder;                       ///< of the script, without a trailing '/'
};

/// Fails where the mesh is not that of the ranks, or the transport is unknown, has bad options or does not open.
Result<PreparedTransport> prepare_transport(const RankOptions& options, const Setup& setup);

/// Fails for a script that is not there, a member that is unknown, has bad options or does not open.
Result<Prepared> prepare(const ScriptOptions& options, const Setup& setup);

}  // namespace baleen::app
