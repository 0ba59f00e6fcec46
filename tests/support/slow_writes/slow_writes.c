/// \file Preloaded into a program: its first write at a place of a file (`pwrite`) takes as many seconds as
/// SLOW_WRITES says, or one; the first one after there is a file SLOW_WRITES_AFTER, if that is set.
#define _GNU_SOURCE  // NOLINT(*reserved-identifier)
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

static void hold_up(void) {
  static atomic_flag is_over = ATOMIC_FLAG_INIT;
  const char* const seconds = getenv("SLOW_WRITES");
  const char* const after = getenv("SLOW_WRITES_AFTER");
  if ((after && access(after, F_OK) != 0) || atomic_flag_test_and_set(&is_over)) return;
  unsigned left = seconds ? (unsigned)atoi(seconds) : 1;
  while (left > 0) left = sleep(left);  // signals interrupt it
}

ssize_t pwrite64(int file, const void* from, size_t bytes, off64_t at) {
  hold_up();
  ssize_t (*next)(int, const void*, size_t, off64_t) =
      (ssize_t(*)(int, const void*, size_t, off64_t))dlsym(RTLD_NEXT, "pwrite64");
  return next(file, from, bytes, at);
}

ssize_t pwrite(int file, const void* from, size_t bytes, off_t at) { return pwrite64(file, from, bytes, at); }
