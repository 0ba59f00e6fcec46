/* What plugins of ABI 1.0 in C wrote themselves: strings, and the start function's copy. */
#pragma once
#include <string.h>

#include "baleen/descriptor.h"
#include "baleen/host.h"

static inline baleen_string_t text_of(const char* text) {
  const baleen_string_t out = {text, strlen(text)};
  return out;
}

static inline baleen_status_t hand_over(void* table, const void* mine, uint64_t size) {
  uint64_t known = *(const uint64_t*)table;
  if (size < known) known = size;
  memcpy(table, mine, known);
  *(uint64_t*)table = known;
  return BALEEN_OK;
}
