/// \file What an exception says, as an Error.
#pragma once
#include <cerrno>
#include <exception>
#include <new>
#include <string>
#include <system_error>

#include "baleen/result.hpp"

namespace baleen::sdk {

/// Of the exception that is being handled: call it in a `catch`. Memory, threads and descriptors that run out are
/// NO_MEMORY, all else is INTERNAL.
inline Error caught_error() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return {BALEEN_NO_MEMORY, "out of memory", {}};
  } catch (const std::system_error& e) {
    if (e.code().category() != std::generic_category() && e.code().category() != std::system_category())
      return {BALEEN_INTERNAL, e.what(), {}};
    if (e.code().value() == EMFILE || e.code().value() == ENFILE)
      return {BALEEN_NO_MEMORY,
              std::string("no more files may be open (") + e.what() + "); raise the limit `ulimit -n`",
              {}};
    if (e.code().value() != EAGAIN && e.code().value() != ENOMEM) return {BALEEN_INTERNAL, e.what(), {}};
    return {BALEEN_NO_MEMORY,
            std::string("no memory for a thread, or no more threads (") + e.what() +
                "); see the limits `ulimit -v` and `ulimit -u`, and those of the container",
            {}};
  } catch (const std::exception& e) {
    return {BALEEN_INTERNAL, e.what(), {}};
  } catch (...) {
    return {BALEEN_INTERNAL, "unknown exception", {}};
  }
}

}  // namespace baleen::sdk
