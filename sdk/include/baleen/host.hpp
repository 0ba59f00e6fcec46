/// \file The host in C++: its log and its failures, and the guards that stop exceptions at the boundary.
#pragma once
#include <exception>
#include <string>
#include <string_view>

#include "baleen/caught.hpp"
#include "baleen/host.h"
#include "baleen/result.hpp"

namespace baleen {

inline std::string_view view(baleen_string_t text) { return {text.data, text.data ? text.size : 0}; }
inline baleen_string_t abi(std::string_view text) { return {text.data(), text.size()}; }

/// A borrowed host with C++ manners. Copyable; valid as long as the plugin is loaded.
class Host {
 public:
  Host() = default;
  explicit Host(const baleen_host_t* host) : host_(host) {}

  void log(baleen_level_t level, std::string_view text) const { host_->log(host_->self, level, abi(text)); }
  baleen_status_t fail(baleen_status_t code, std::string_view text) const {
    return host_->fail(host_->self, code, abi(text));
  }
  baleen_status_t fail(const Error& error) const { return fail(error.code, error.text()); }
  const baleen_host_t* get() const { return host_; }
  /// An optional extension, or null.
  template <class Extension>
  const Extension* query(std::string_view name) const {
    return static_cast<const Extension*>(host_->query(host_->self, abi(name)));
  }

 private:
  const baleen_host_t* host_ = nullptr;
};

/// Thrown where a call into the host failed: the host has the text already, so `guard` passes the bare status on.
struct Failed : std::exception {
  explicit Failed(baleen_status_t status) : status(status) {}
  const char* what() const noexcept override { return "a call into the host failed"; }
  baleen_status_t status;
};

/// Runs `body` (returning Status or Result<...>-like Status) and turns its Error or exception into a status with text.
template <class Body>
baleen_status_t guard(const Host& host, Body&& body) noexcept {
  try {
    Status status = body();
    return status ? BALEEN_OK : host.fail(status.error());
  } catch (const Failed& failure) {
    return failure.status;
  } catch (...) {
    return host.fail(sdk::caught_error());
  }
}

/// The guard of a function that returns a value and no status: `fallback` where `body` throws, and the text with the
/// host, which asks for it (host.h).
template <class T, class Body>
T guard_value(const Host& host, T fallback, Body&& body) noexcept {
  const auto status = guard(host, [&]() -> Status {
    fallback = body();
    return {};
  });
  (void)status;  // the host has the text
  return fallback;
}

/// The guard of a function that returns nothing: what `body` throws is a line in the log. `what` names the function.
template <class Body>
void guard_nothing(const Host& host, std::string_view what, Body&& body) noexcept {
  const auto write = [&](const char* why) {
    try {
      host.log(BALEEN_FAILURE, std::string(what) + " threw an exception: " + why);
    } catch (...) {  // out of memory: a lost line is better than a lost run
    }
  };
  try {
    body();
  } catch (const std::exception& e) {
    write(e.what());
  } catch (...) {
    write("of an unknown type");
  }
}

/// The guard of a query without an object, for which there is no host to tell: what cannot be asked is not there.
template <class Body>
const void* query_quietly(Body&& body) noexcept {
  try {
    return body();
  } catch (...) {
    return nullptr;
  }
}

}  // namespace baleen
