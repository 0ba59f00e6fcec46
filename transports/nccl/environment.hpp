/// \file Variables of this process's environment: set while other threads may read it, and read as NCCL does.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace baleen::nccl {

/// Sets each variable that has not this value yet. glibc before 2.41 gives back the list of variables that `setenv`
/// has outgrown, though another thread's `getenv` may be reading it. Here a new list takes the place of the old one,
/// which stays for as long as the process lives. [any thread; not beside another's `setenv`]
void set_variables(const std::vector<std::pair<std::string, std::string>>& variables);

/// What a user has set for NCCL, and where: "the environment", or a file.
struct UserVariable {
  std::string value, where;
};

/// As NCCL reads it: from the environment, else from the file that NCCL_CONF_FILE names (~/.nccl.conf where it names
/// none), else from /etc/nccl.conf. Nothing where it is set nowhere, or to nothing.
std::optional<UserVariable> user_variable(const std::string& name);

}  // namespace baleen::nccl
