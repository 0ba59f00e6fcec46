/// \file Paths that a user typed on the command line mean what they mean in the shell: relative to the working folder,
/// though a script's own paths are relative to the script.
#pragma once
#include <string>
#include <vector>

#include "core/input/user_value.hpp"
#include "core/plugin/descriptor.hpp"

namespace baleen::app {

/// Makes each relative value of a PATH option absolute where it stands among the script's arguments, either alone or
/// behind the '=' of `--name=value`. Other values stay as they are.
void anchor_typed_paths(UserValues& values, const Descriptor& descriptor, const std::vector<std::string>& script_args);

/// What PATH options name: relative to `folder` where they are relative. Words that stand in place of a path are none.
std::vector<std::string> paths_of(const UserValues& values, const Descriptor& descriptor, const std::string& folder);

}  // namespace baleen::app
