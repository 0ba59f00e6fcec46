/// \file A monitor that writes to no address at the third step.
#include "baleen/monitor.hpp"

BALEEN_DESCRIPTOR("monitor", "trips", "1.0.0", "Apache-2.0", "Crashes", -1, "");

namespace {

using namespace baleen;
using namespace baleen::sdk;

class Trips : public Monitor {
 public:
  static Result<std::unique_ptr<Trips>> create(const Host&, const Settings&) { return std::make_unique<Trips>(); }
  Status record(const Record& record) override {
    static volatile std::uintptr_t nowhere = 0;
    if (record.step() == 3) *reinterpret_cast<volatile int*>(nowhere) = 1;
    return {};
  }
};

}  // namespace

BALEEN_MONITOR(Trips);
