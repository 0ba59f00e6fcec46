/// \file The last lines of all of the process's logs, where a handler of signals can print them.
#pragma once
#include <string_view>

namespace baleen {

/// Keeps the line's first bytes until some others have come. From any thread; it waits for nobody.
void remember_line(std::string_view level, std::string_view text);

/// Writes them to a file, the oldest first, between two marks; nothing where there are none. Allocates and locks
/// nothing: a line that is being written just then may be broken.
void print_last_lines(int file);

}  // namespace baleen
