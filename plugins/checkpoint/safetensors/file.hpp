/// \file What reader and writer share: errors of system calls.
#pragma once
#include <cerrno>
#include <cstring>
#include <string>

#include "baleen/result.hpp"

namespace baleen::safetensors {

/// An Error from errno.
inline Error system_error(const std::string& what, const std::string& path) {
  const int reason = errno;
  const bool missing = reason == ENOENT || reason == ENOTDIR;
  return {missing ? BALEEN_NOT_FOUND : BALEEN_IO, what + ": " + std::strerror(reason), path};
}

}  // namespace baleen::safetensors
