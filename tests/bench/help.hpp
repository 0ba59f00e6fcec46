/// \file What a benchmark says of itself. The text's first line says what it measures.
#pragma once
#include <cstdio>
#include <exception>
#include <string_view>

namespace baleen::bench {

/// Prints the text where a word asks for help.
inline bool helped(int argc, char** argv, const char* text) {
  for (int i = 1; i < argc; ++i) {
    if (const std::string_view word = argv[i]; word != "--help" && word != "-h") continue;
    std::fputs(text, stdout);
    return true;
  }
  return false;
}

/// For words that mean nothing: prints the text and returns the exit status.
inline int misused(const char* text) {
  std::fputs(text, stderr);
  return 2;
}

/// Runs a program's body; what it throws (no such plugin, no such device) ends it with its message and 1.
int guarded(const auto& body) {
  try {
    return body();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return 1;
  }
}

}  // namespace baleen::bench
