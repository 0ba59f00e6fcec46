/// \file What a test program under the thread sanitizer asks of it; TSAN_OPTIONS still says otherwise.

// Where a thread first uses thread-local memory of a loaded library, the sanitizer of GCC 12 guesses by its address
// whether the C library keeps a note before it. For one address in 256 there is none, and it takes what lies there for
// a range of memory to forget: of hundreds of terabytes, sometimes, and ends the program. The memory comes from malloc,
// which it watches anyway.
// NOLINTNEXTLINE(bugprone-reserved-identifier, readability-identifier-naming): the sanitizer's own name.
extern "C" const char* __tsan_default_options() { return "intercept_tls_get_addr=0"; }
