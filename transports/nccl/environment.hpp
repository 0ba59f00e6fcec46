/// \file Variables of this process's environment, set while other threads may read it.
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace baleen::nccl {

/// Sets each variable that has not this value yet. glibc before 2.41 gives back the list of variables that `setenv`
/// has outgrown, though another thread's `getenv` may be reading it. Here a new list takes the place of the old one,
/// which stays for as long as the process lives. [any thread; not beside another's `setenv`]
void set_variables(const std::vector<std::pair<std::string, std::string>>& variables);

}  // namespace baleen::nccl
