/// \file A monitor that crashes at the third step: it writes to no address, or a library does that it opened.
#include <dlfcn.h>

#include "baleen/monitor.hpp"

BALEEN_DESCRIPTOR("monitor", "trips", "1.0.0", "Apache-2.0", "Crashes", -1, "",
                  BALEEN_OPTION("library", BALEEN_OPTION_STRING, 0, 1, 0, "", "", "",
                                "the library to open when the monitor is made; none: it crashes itself"));

namespace {

using namespace baleen;
using namespace baleen::sdk;

class Trips : public Monitor {
 public:
  static Result<std::unique_ptr<Trips>> create(const Host&, const Settings& settings) {
    auto monitor = std::make_unique<Trips>();
    const std::string library(settings.text("library"));
    if (library.empty()) return monitor;
    if (void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL))
      monitor->break_ = reinterpret_cast<void (*)()>(dlsym(handle, "fragile_break"));
    if (!monitor->break_) return invalid("there is no " + library);
    return monitor;
  }
  Status record(const Record& record) override {
    static volatile std::uintptr_t nowhere = 0;
    if (record.step() != 3) return {};
    if (break_) break_();
    *reinterpret_cast<volatile int*>(nowhere) = 1;
    return {};
  }

 private:
  void (*break_)() = nullptr;
};

}  // namespace

BALEEN_MONITOR(Trips);
