/// \file Prints by C's stream, which others in this process print to as well.
#include "core/log/printed.hpp"

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>

namespace baleen {
namespace {

std::atomic<int>& first_failure() {
  static std::atomic<int> reason{0};
  return reason;
}

/// Right behind a print, with what it has made of `errno`.
void note(bool is_taken) {
  int none = 0;
  if (!is_taken) first_failure().compare_exchange_strong(none, errno);
}

}  // namespace

void print_out(const char* format, ...) {
  std::va_list values;
  va_start(values, format);
  const int printed = std::vprintf(format, values);
  note(printed >= 0);
  va_end(values);
}

void print_text(std::string_view text) {
  if (!text.empty()) note(std::fwrite(text.data(), 1, text.size(), stdout) == text.size());
}

bool flush_printed() {
  const bool taken = std::fflush(stdout) == 0;
  note(taken);
  return taken;
}

int print_failure() { return first_failure(); }

}  // namespace baleen
