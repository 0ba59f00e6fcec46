/// \file The processor's plugin, opened from the file CPU_FILE, which the option `defect` makes wrong in one way.
#include <dlfcn.h>

#include <cmath>
#include <csignal>
#include <random>
#include <string>
#include <utility>

#include "baleen/compute.h"
#include "baleen/launcher.h"
#include "baleen/plugin.hpp"
#include "baleen/settings.hpp"

// The first three are the processor's own: it reads its settings by their names.
BALEEN_DESCRIPTOR("compute", "planted", "1.0.0", "Apache-2.0", "Wrong on request", -1, "",
                  BALEEN_OPTION("threads", BALEEN_OPTION_INT, BALEEN_OPTION_THREADS, 0, 4096, "0", "", "", "threads"),
                  BALEEN_OPTION("pin", BALEEN_OPTION_BOOL, 0, 1, 0, "true", "", "", "keep threads on cores"),
                  BALEEN_OPTION("memory", BALEEN_OPTION_INT, 0, 0, 1e9, "0", "", "", "MiB"),
                  BALEEN_OPTION("defect", BALEEN_OPTION_STRING, 0, 0, 0, "", "", "", "what is wrong"));

namespace {

using namespace baleen;

baleen_compute_t inner;
std::string defect;

bool is(std::string_view word) { return defect == word; }

baleen_status_t create(const baleen_host_t* host, const baleen_settings_t* settings, void** device) {
  defect = Settings(settings).text("defect");
  return inner.create(host, settings, device);
}

/// What comes from the host is data; what goes there are losses.
baleen_status_t copy(void* device, void* stream, void* to, const void* from, std::uint64_t bytes) {
  const baleen_status_t status = inner.copy(device, stream, to, from, bytes);
  if (status != BALEEN_OK || bytes < 8 * sizeof(float)) return status;
  inner.synchronize(device, stream);
  auto* const words = static_cast<float*>(to);
  const bool is_number = std::abs(words[0]) > 1e-6F && std::abs(words[0]) < 10;  // no small integer
  if (is("another") && is_number) words[0] += 3;
  if (is("another") && !is_number) std::swap(words[0], words[6]);
  if (is("draws") && is_number) words[0] = static_cast<float>(std::random_device()() % 1000) / 1000;
  return status;
}

baleen_status_t launch(void* device, void* kernel, const baleen_launch_t* launch) {
  if (is("dies")) std::raise(SIGSEGV);
  return inner.launch(device, kernel, launch);
}

}  // namespace

extern "C" BALEEN_EXPORT baleen_status_t baleen_plugin_start(const baleen_host_t* host, void* table) {
  using Start = baleen_status_t (*)(const baleen_host_t*, void*);
  void* const library = dlopen(CPU_FILE, RTLD_NOW | RTLD_LOCAL);
  const auto start = library ? reinterpret_cast<Start>(dlsym(library, BALEEN_START_SYMBOL)) : nullptr;
  if (!start) return host->fail(host->self, BALEEN_NOT_FOUND, abi(std::string_view("no processor's plugin")));
  inner.size = sizeof inner;
  if (const baleen_status_t status = start(host, &inner); status != BALEEN_OK) return status;
  baleen_compute_t own = inner;
  own.create = &create;
  own.copy = &copy;
  own.launch = &launch;
  return baleen_give_table(host, "compute", table, &own, sizeof own);
}
