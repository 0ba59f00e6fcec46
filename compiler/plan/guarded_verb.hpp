/// \file What a strategy says through a table of C functions becomes a status: no exception leaves, the first refusal
/// is kept with its text.
#pragma once
#include <exception>

#include "baleen/plugin.hpp"

namespace baleen {

/// Runs `verb`, which returns a Status, and gives its code. `first` keeps the first error of several verbs.
template <class Verb>
baleen_status_t guarded_verb(Status& first, Verb&& verb) {
  Status status;
  try {
    status = verb();
  } catch (const std::exception& e) {
    status = internal(e.what());
  }
  if (status) return BALEEN_OK;
  const baleen_status_t code = status.error().code;
  if (first) first = std::move(status);
  return code;
}

}  // namespace baleen
