/// \file AdamW: Adam with decoupled weight decay (arXiv 1711.05101, algorithm 2), in the form PyTorch computes.
#include "baleen/optimizer.hpp"

BALEEN_DESCRIPTOR("optimizer", "adamw", "1.0.0", "Apache-2.0", "Adam with decoupled weight decay (arXiv 1711.05101)",
                  10, "",
                  BALEEN_OPTION("lr", BALEEN_OPTION_SCHEDULE, BALEEN_OPTION_PER_GROUP, 0, 1e9, "1e-3", "", "",
                                "learning rate"),
                  BALEEN_OPTION("beta1", BALEEN_OPTION_FLOAT, BALEEN_OPTION_PER_GROUP, 0, 1, "0.9", "", "",
                                "decay of the mean of gradients, below 1"),
                  BALEEN_OPTION("beta2", BALEEN_OPTION_FLOAT, BALEEN_OPTION_PER_GROUP, 0, 1, "0.999", "", "",
                                "decay of the mean of squared gradients, below 1"),
                  BALEEN_OPTION("epsilon", BALEEN_OPTION_FLOAT, BALEEN_OPTION_PER_GROUP, 0, 1e9, "1e-8", "", "",
                                "added to the root of the second moment"),
                  BALEEN_OPTION("weight_decay", BALEEN_OPTION_FLOAT, BALEEN_OPTION_PER_GROUP, 0, 1e9, "0.01", "", "",
                                "share of the parameter, times the rate, that is taken off each step"),
                  BALEEN_OPTION("variance_steps", BALEEN_OPTION_INT, BALEEN_OPTION_PER_GROUP, 0, 1e9, "0", "", "",
                                "updates after which the second moment stays as it is (arXiv 2102.02888); 0: never"));

namespace {

using namespace baleen;
using namespace baleen::sdk;

class AdamW : public Optimizer {
 public:
  static Result<std::unique_ptr<AdamW>> create(const Host&, const Settings&) { return std::make_unique<AdamW>(); }

  baleen_optimizer_traits_t traits() const override { return BALEEN_OPTIMIZER_ELEMENTWISE; }

  Result<std::vector<Slot>> slots(const Settings& settings) const override {
    for (const char* beta : {"beta1", "beta2"})
      if (settings.number(beta) >= 1) return invalid("adamw: `" + std::string(beta) + "` must be below 1");
    return std::vector<Slot>{{"m"}, {"v"}};
  }

  Result<NewValues> update(const Update& update) override {
    const Settings settings = update.settings();
    const double beta1 = settings.number("beta1"), beta2 = settings.number("beta2");
    const double epsilon = settings.number("epsilon"), decay = settings.number("weight_decay");
    const Value w = update.parameter(), g = update.gradient(), lr = update.schedule("lr");
    const Value t = update.count() + 1.0;

    const Value m = beta1 * update.slot(0) + (1 - beta1) * g;
    Value v = beta2 * update.slot(1) + (1 - beta2) * (g * g);
    Value counted = t;  // updates that `v` holds
    if (const auto last = static_cast<double>(settings.integer("variance_steps")); last > 0) {
      v = select(less_equal(t, last), v, update.slot(1));
      counted = min(t, last);
    }
    // The corrections are scalars: they join the rate and the denominator, not each element's moments.
    const Value rate = lr / one_minus_power(beta1, t);
    const Value correction = sqrt(one_minus_power(beta2, counted));
    const Value kept = decay != 0 ? w * (1.0 - lr * decay) : w;
    return NewValues{kept - rate * (m / (sqrt(v) / correction + epsilon)), {m, v}};
  }
};

}  // namespace

BALEEN_OPTIMIZER(AdamW);
