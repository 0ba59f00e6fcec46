/// \file A library that is no plugin and writes to no address.
#include <cstdint>

extern "C" void fragile_break() {
  static volatile std::uintptr_t nowhere = 0;
  *reinterpret_cast<volatile int*>(nowhere) = 1;
}
