/// \file The exception that carries an Error through Lua; it never leaves this library except out of a Schedule.
#pragma once
#include <stdexcept>

#include "baleen/result.hpp"

namespace baleen {

class ScriptError : public std::runtime_error {
 public:
  explicit ScriptError(Error error) : std::runtime_error(error.text()), error_(std::move(error)) {}
  const Error& error() const { return error_; }

 private:
  Error error_;
};

/// The value, or its Error thrown.
template <class T>
T unwrap(Result<T> result) {
  if (!result) throw ScriptError(std::move(result).error());
  return *std::move(result);
}
inline void unwrap(Status status) {
  if (!status) throw ScriptError(std::move(status).error());
}

}  // namespace baleen
