/// \file A monitor whose static object throws.
#include <stdexcept>

#include "baleen/monitor.hpp"

BALEEN_DESCRIPTOR("monitor", "throws", "1.0.0", "Apache-2.0", "Crashes", -1, "");

namespace {

using namespace baleen;
using namespace baleen::sdk;

struct Throwing {
  Throwing() { throw std::runtime_error("too early"); }
} throwing;

class Throws : public Monitor {
 public:
  static Result<std::unique_ptr<Throws>> create(const Host&, const Settings&) { return std::make_unique<Throws>(); }
  Status record(const Record&) override { return {}; }
};

}  // namespace

BALEEN_MONITOR(Throws);
