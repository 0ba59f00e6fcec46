/// \file What the sources of the emulated driver share.
#pragma once
#include <cuda.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "streams.hpp"

namespace baleen::emulated {

constexpr int kSharedMost = 227 << 10;

/// An environment variable's number.
inline int number(const char* name, int fallback) {
  const char* text = std::getenv(name);
  return text && *text ? std::atoi(text) : fallback;
}

/// Appends to the file that an environment variable names.
inline void tell(const char* variable, const std::string& line) {
  const char* const log = std::getenv(variable);
  std::FILE* const file = log ? std::fopen(log, "a") : nullptr;
  if (!file) return;
  std::fprintf(file, "%s\n", line.c_str());
  std::fclose(file);
}

/// What every call returns after a failure.
inline CUresult state() { return static_cast<CUresult>(failure()); }

inline Queue* queue(CUstream stream) { return reinterpret_cast<Queue*>(stream); }

/// Enqueues work that touches the device's memory.
inline void on(CUstream stream, std::function<void()> work) {
  enqueue(queue(stream), [work = std::move(work)] {
    const Access access;
    work();
  });
}

/// The stream that this thread captures.
inline CUstream& capturing() {
  static thread_local CUstream stream = nullptr;
  return stream;
}
/// For calls that cannot be kept: true, and the capture is spoilt, where one is under way.
inline bool forbidden() {
  if (!capturing()) return false;
  captured(queue(capturing()))->valid = false;
  return true;
}

}  // namespace baleen::emulated
