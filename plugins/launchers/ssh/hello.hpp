/// \file What the first host says to everyone who connects, in clear: which protocol it speaks, and for which job. The
/// rest of the connection is TLS with a key of that job.
#pragma once
#include <cstddef>
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

}  // namespace baleen::launchers
