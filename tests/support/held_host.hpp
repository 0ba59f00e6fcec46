/// \file Keeps the host out of what the emulated CUDA driver does (tests/support/emulated_cuda).
#pragma once
#include <dlfcn.h>

#include "support/places.hpp"

namespace baleen::test {

/// Host functions of the emulated driver do not run while one lives: no counter that a stream signals rises.
class HeldHost {
 public:
  HeldHost() { hold(1); }
  ~HeldHost() { hold(0); }
  HeldHost(const HeldHost&) = delete;

 private:
  static void hold(int held) {
    void* driver = dlopen((emulated_folder() + "/libcuda.so.1").c_str(), RTLD_NOW | RTLD_LOCAL);
    reinterpret_cast<void (*)(int)>(dlsym(driver, "baleen_emulated_hold_host_functions"))(held);
  }
};

}  // namespace baleen::test
