/// \file An optimizer: w' = w - lr * g. Start here for a rule of your own.
#include "baleen/optimizer.hpp"

BALEEN_DESCRIPTOR("optimizer", "descent", "1.0.0", "Apache-2.0", "Gradient descent, an example", -1, "",
                  BALEEN_OPTION("lr", BALEEN_OPTION_SCHEDULE, BALEEN_OPTION_PER_GROUP, 0, 1e9, "0.1", "", "",
                                "learning rate"));

namespace {

using namespace baleen;
using namespace baleen::sdk;

class Descent : public Optimizer {
 public:
  static Result<std::unique_ptr<Descent>> create(const Host&, const Settings&) { return std::make_unique<Descent>(); }

  baleen_optimizer_traits_t traits() const override { return BALEEN_OPTIMIZER_ELEMENTWISE; }

  /// No state is kept between steps. Momentum would be one slot: `return std::vector<Slot>{{"momentum"}};`
  Result<std::vector<Slot>> slots(const Settings&) const override { return std::vector<Slot>{}; }

  /// Formulas over values append ops to the graph; they run on the device, fused, once per step.
  Result<NewValues> update(const Update& update) override {
    return NewValues{update.parameter() - update.schedule("lr") * update.gradient(), {}};
  }
};

}  // namespace

BALEEN_OPTIMIZER(Descent);
