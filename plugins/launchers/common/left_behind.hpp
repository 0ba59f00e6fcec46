/// \file What a process that is killed cannot remove itself.
#pragma once
#include <sys/types.h>

#include <ctime>

namespace baleen::launchers {

/// Removes the System V shared memory without a key that the dead process `creator` made at `begin` or later and that
/// nobody is attached to. A library that makes one (UCX) marks it for removal next; who is killed in between leaves it,
/// until the machine starts anew.
void remove_shared_memory_of(pid_t creator, std::time_t begin);

}  // namespace baleen::launchers
