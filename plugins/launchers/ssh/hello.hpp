/// \file What hosts say in clear. The first one to everyone who connects: which protocol it speaks, and for which job.
/// The rest of the connection is TLS with a key of that job, in whose beginning the other host says who it is.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "baleen/result.hpp"

namespace baleen::launchers {

/// The same in all versions of the protocol, so that each can tell which one it met.
constexpr std::size_t kHelloBytes = 64;

/// A fresh name of a job: 16 hexadecimal digits, no secret.
std::string fresh_job();

std::string hello_of(std::string_view job);

/// The job that a hello of `kHelloBytes` speaks of. INVALID where it is none of this version, with what it is.
Result<std::string> job_of(std::string_view hello);

/// What the host of that index calls itself.
std::string identity_of(int host);

/// Nothing where it is no identity of a host.
std::optional<int> host_from(std::string_view identity);

}  // namespace baleen::launchers
