/// \file What a fallible function returns: a value or an Error. Used by the core and by plugins alike.
#pragma once
#include <string>
#include <utility>
#include <variant>

#include "baleen/base.h"

namespace baleen {

/// Why something failed. `where` is "file:line:column", a path, or a layer's path; it may be empty.
struct Error {
  baleen_status_t code = BALEEN_INTERNAL;
  std::string message;
  std::string where;

  /// "where: message", or the message alone.
  std::string text() const { return where.empty() ? message : where + ": " + message; }
};

inline Error invalid(std::string message, std::string where = {}) {
  return {BALEEN_INVALID, std::move(message), std::move(where)};
}
inline Error unsupported(std::string message, std::string where = {}) {
  return {BALEEN_UNSUPPORTED, std::move(message), std::move(where)};
}
inline Error internal(std::string message, std::string where = {}) {
  return {BALEEN_INTERNAL, std::move(message), std::move(where)};
}

/// A T or an Error. Test before use.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return state_.index() == 0; }
  T& operator*() & { return std::get<0>(state_); }
  const T& operator*() const& { return std::get<0>(state_); }
  T&& operator*() && { return std::get<0>(std::move(state_)); }
  T* operator->() { return &std::get<0>(state_); }
  const T* operator->() const { return &std::get<0>(state_); }
  const Error& error() const& { return std::get<1>(state_); }
  Error&& error() && { return std::get<1>(std::move(state_)); }

 private:
  std::variant<T, Error> state_;
};

/// Success, or an Error.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : failed_(true), error_(std::move(error)) {}

  explicit operator bool() const { return !failed_; }
  const Error& error() const& { return error_; }
  Error&& error() && { return std::move(error_); }

 private:
  bool failed_ = false;
  Error error_;
};
using Status = Result<void>;

}  // namespace baleen

/// Returns the error of `expression` from the enclosing function, if it is one.
#define BALEEN_TRY(expression)                                                                \
  do {                                                                                        \
    if (auto baleen_try_ = (expression); !baleen_try_) return std::move(baleen_try_).error(); \
  } while (false)

/// `BALEEN_TRY_ASSIGN(auto x, f())`: x = *f(), or returns its error.
#define BALEEN_TRY_ASSIGN_(name, target, expression) \
  auto name = (expression);                          \
  if (!name) return std::move(name).error();         \
  target = *std::move(name)
#define BALEEN_TRY_CONCAT_(a, b) a##b
#define BALEEN_TRY_CONCAT(a, b) BALEEN_TRY_CONCAT_(a, b)
#define BALEEN_TRY_ASSIGN(target, expression) \
  BALEEN_TRY_ASSIGN_(BALEEN_TRY_CONCAT(baleen_result_, __LINE__), target, expression)
