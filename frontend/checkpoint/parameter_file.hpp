/// \file Parameters to and from a file, through the checkpoint plugin that the file's ending chooses.
#pragma once
#include <map>
#include <string>

#include "core/plugin/registry.hpp"
#include "core/runtime/session.hpp"
#include "frontend/checkpoint/load_parts.hpp"

namespace baleen {

/// All parameters by their names. With several ranks all of them call it, and those that do not keep them get none.
Result<HostTensors> read_parameters(Session& session, bool keeps = true);

/// Writes all parameters (not the optimizer's states) under their names; all or nothing. `facts` become the file's
/// metadata.
Status save_parameters(Session& session, const Registry& plugins, const std::string& path,
                       const std::map<std::string, std::string>& facts);

/// Reads all parameters, or the `parts` of them. What is taken must be there with its shape, and nothing else may be;
/// fp32 and fp64 are converted into each other. The error names what is missing, what is not expected, the nearest
/// names, and the option that helps; nothing is written then.
Status load_parameters(Session& session, const Registry& plugins, const std::string& path, const LoadParts& parts = {});

}  // namespace baleen
