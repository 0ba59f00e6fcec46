/// \file Parameters to and from a file, through the checkpoint plugin that the file's ending chooses.
#pragma once
#include <map>
#include <string>

#include "core/plugin/registry.hpp"
#include "core/runtime/session.hpp"
#include "frontend/checkpoint/load_parts.hpp"

namespace baleen {

/// What became of a file.
struct SavedFile {
  Status status;
  bool is_there = false;  ///< it holds all, also where its folder alone could not be synced
};

/// Writes all parameters (not the optimizer's states) under their names; all or nothing. `facts` become the file's
/// metadata. With several ranks all of them call it, and one writes; the others' file is there for them. What no rank
/// has a part of passes through a few MiB, what ranks share is in memory as a whole, one after the other. An error:
/// something could not be read, and what the other ranks wait for does not come; this one has to end.
Result<SavedFile> save_parameters(Session& session, const Registry& plugins, const std::string& path,
                                  const std::map<std::string, std::string>& facts, bool writes = true);

/// Whether ranks hold parts of parameters, which saving brings together.
bool gathers_parameters(const Session& session);

/// Reads all parameters, or the `parts` of them. What is taken must be there with its shape, and nothing else may be;
/// fp32 and fp64 are converted into each other. The error names what is missing, what is not expected, the nearest
/// names, and the option that helps; nothing is written then.
Status load_parameters(Session& session, const Registry& plugins, const std::string& path, const LoadParts& parts = {});

}  // namespace baleen
