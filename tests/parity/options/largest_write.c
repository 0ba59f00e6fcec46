/// \file Preloaded into a program: appends to the file LARGEST_WRITE the bytes of each write at a place of a file
/// (`pwrite`) that is larger than all before, a line each.
#define _GNU_SOURCE  // NOLINT(*reserved-identifier)
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void note(size_t bytes) {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  static size_t largest;
  pthread_mutex_lock(&mutex);
  if (bytes > largest) {
    largest = bytes;
    FILE* const file = fopen(getenv("LARGEST_WRITE"), "a");
    fprintf(file, "%zu\n", bytes);
    fclose(file);
  }
  pthread_mutex_unlock(&mutex);
}

ssize_t pwrite64(int file, const void* from, size_t bytes, off64_t at) {
  note(bytes);
  ssize_t (*next)(int, const void*, size_t, off64_t) =
      (ssize_t(*)(int, const void*, size_t, off64_t))dlsym(RTLD_NEXT, "pwrite64");
  return next(file, from, bytes, at);
}

ssize_t pwrite(int file, const void* from, size_t bytes, off_t at) { return pwrite64(file, from, bytes, at); }
