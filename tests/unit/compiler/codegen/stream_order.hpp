/// \file Whether streams and host can touch the same bytes at once, by the waits between them alone: what no run shows
/// whose streams happen to be in time.
#pragma once
#include <string>

#include "compiler/codegen/executable.hpp"

namespace baleen::test {

/// Runs a program without a device and keeps, for each access of what it works on, what it surely comes after: a vector
/// clock for the program's stream, the host's cores, the copies out and in, and the store's puts and gets. The program
/// describes its operands. Empty, or the first two accesses of the same bytes, one of them a write, that nothing keeps
/// apart.
std::string first_race(const Executable& program);

}  // namespace baleen::test
