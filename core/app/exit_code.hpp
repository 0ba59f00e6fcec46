/// \file How a command ends: the exit code that scripts see, and the one line that people see.
#pragma once
#include "baleen/result.hpp"
#include "core/log/log.hpp"

namespace baleen::app {

constexpr int kSuccess = 0;
constexpr int kBadInput = 2;    ///< the user's script, manifest, data, plugin or command line
constexpr int kDoesNotFit = 3;  ///< the plan needs more memory than there is
constexpr int kLostPeer = 4;
constexpr int kOurBug = 70;

int exit_code(baleen_status_t status);

/// Writes the error as one line; after our own bug and a lost peer the flight recorder too. Returns the exit code.
int report(const Log& log, const Error& error);

}  // namespace baleen::app
