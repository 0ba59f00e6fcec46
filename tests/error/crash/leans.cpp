/// \file A monitor that is linked with a library, which crashes at the third step.
#include "baleen/monitor.hpp"

BALEEN_DESCRIPTOR("monitor", "leans", "1.0.0", "Apache-2.0", "Crashes", -1, "");

extern "C" void fragile_break();

namespace {

using namespace baleen;
using namespace baleen::sdk;

class Leans : public Monitor {
 public:
  static Result<std::unique_ptr<Leans>> create(const Host&, const Settings&) { return std::make_unique<Leans>(); }
  Status record(const Record& record) override {
    if (record.step() == 3) fragile_break();
    return {};
  }
};

}  // namespace

BALEEN_MONITOR(Leans);
