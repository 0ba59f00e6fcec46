/// \file Whom a process is connected with.
#pragma once
#include "core/plugin/signal_safe_line.hpp"

namespace baleen {

/// Adds "10.0.0.1:4711 to 10.0.0.2:5000, ..." of the process's first eight connections to other hosts or ports by TCP;
/// nothing where there are none. [a handler of signals]
void add_connections(SignalSafeLine& line, std::string_view before);

}  // namespace baleen
