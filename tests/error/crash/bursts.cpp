/// \file A monitor whose static object ends the process.
#include <cstdlib>

#include "baleen/monitor.hpp"

BALEEN_DESCRIPTOR("monitor", "bursts", "1.0.0", "Apache-2.0", "Crashes", -1, "");

namespace {

using namespace baleen;
using namespace baleen::sdk;

struct Bursting {
  Bursting() { std::abort(); }
} bursting;

class Bursts : public Monitor {
 public:
  static Result<std::unique_ptr<Bursts>> create(const Host&, const Settings&) { return std::make_unique<Bursts>(); }
  Status record(const Record&) override { return {}; }
};

}  // namespace

BALEEN_MONITOR(Bursts);
