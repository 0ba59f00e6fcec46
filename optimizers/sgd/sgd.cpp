/// \file Stochastic gradient descent with momentum, dampening, Nesterov's step and weight decay, as PyTorch's SGD.
#include "baleen/optimizer.hpp"

BALEEN_DESCRIPTOR("optimizer", "sgd", "1.0.0", "Apache-2.0", "Stochastic gradient descent with momentum", 0, "",
                  BALEEN_OPTION("lr", BALEEN_OPTION_SCHEDULE, BALEEN_OPTION_PER_GROUP, 0, 1e9, "1e-2", "", "",
                                "learning rate"),
                  BALEEN_OPTION("momentum", BALEEN_OPTION_FLOAT, BALEEN_OPTION_PER_GROUP, 0, 1, "0", "", "",
                                "share of the last step that is kept; 0 keeps no state"),
                  BALEEN_OPTION("dampening", BALEEN_OPTION_FLOAT, BALEEN_OPTION_PER_GROUP, 0, 1, "0", "", "",
                                "share of the gradient that does not enter the momentum (after the first step)"),
                  BALEEN_OPTION("nesterov", BALEEN_OPTION_BOOL, BALEEN_OPTION_PER_GROUP, 0, 1, "false", "", "",
                                "look one momentum step ahead; needs momentum and no dampening"),
                  BALEEN_OPTION("weight_decay", BALEEN_OPTION_FLOAT, BALEEN_OPTION_PER_GROUP, 0, 1e9, "0", "", "",
                                "L2 penalty: this times the parameter is added to its gradient"));

namespace {

using namespace baleen;
using namespace baleen::sdk;

class Sgd : public Optimizer {
 public:
  static Result<std::unique_ptr<Sgd>> create(const Host&, const Settings&) { return std::make_unique<Sgd>(); }

  baleen_optimizer_traits_t traits() const override { return BALEEN_OPTIMIZER_ELEMENTWISE; }

  Result<std::vector<Slot>> slots(const Settings& settings) const override {
    const bool momentum = settings.number("momentum") != 0;
    if (settings.boolean("nesterov") && (!momentum || settings.number("dampening") != 0))
      return invalid("sgd: `nesterov` needs `momentum` above 0 and `dampening` 0");
    if (!momentum) return std::vector<Slot>{};
    return std::vector<Slot>{{"momentum"}};
  }

  Result<NewValues> update(const Update& update) override {
    const Settings settings = update.settings();
    const double decay = settings.number("weight_decay");
    const Value w = update.parameter(), lr = update.schedule("lr");
    Value g = update.gradient();
    if (decay != 0) g = g + decay * w;
    if (update.slot_count() == 0) return NewValues{w - lr * g, {}};

    const double momentum = settings.number("momentum"), dampening = settings.number("dampening");
    Value buffer = momentum * update.slot(0) + (1 - dampening) * g;
    // The first gradient enters the empty buffer undampened.
    if (dampening != 0) buffer = select(equal(update.count(), 0.0), g, buffer);
    const Value direction = settings.boolean("nesterov") ? g + momentum * buffer : buffer;
    return NewValues{w - lr * direction, {buffer}};
  }
};

}  // namespace

BALEEN_OPTIMIZER(Sgd);
