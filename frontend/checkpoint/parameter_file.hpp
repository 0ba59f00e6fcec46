/// \file Parameters to and from a file, through the checkpoint plugin that the file's ending chooses.
#pragma once
#include <map>
#include <string>

#include "core/plugin/registry.hpp"
#include "core/runtime/session.hpp"

namespace baleen {

/// Writes all parameters (not the optimizer's states) under their names; all or nothing. `facts` become the file's
/// metadata. With several ranks all of them call it, and one of them `writes`.
Status save_parameters(Session& session, const Registry& plugins, const std::string& path,
                       const std::map<std::string, std::string>& facts, bool writes = true);

/// Reads all parameters. Names and shapes must agree exactly; fp32 and fp64 are converted into each other. The error
/// names what is missing, what is not expected, and the nearest names.
Status load_parameters(Session& session, const Registry& plugins, const std::string& path);

}  // namespace baleen
