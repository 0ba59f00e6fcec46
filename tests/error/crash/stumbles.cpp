/// \file A strategy that writes to no address when it is asked to place.
#include "baleen/strategy.hpp"

BALEEN_DESCRIPTOR("strategy", "stumbles", "1.0.0", "Apache-2.0", "Crashes", 0, "");

namespace {

using namespace baleen;
using namespace baleen::sdk;

class Stumbles : public Strategy {
 public:
  static Result<std::unique_ptr<Stumbles>> create(const Host&, const Settings&, MeshView) {
    return std::make_unique<Stumbles>();
  }
  bool claims(std::uint32_t) const override { return false; }
  Status place(GraphView, Placing) override {
    static volatile std::uintptr_t nowhere = 0;
    *reinterpret_cast<volatile int*>(nowhere) = 1;
    return {};
  }
};

}  // namespace

BALEEN_STRATEGY(Stumbles);
