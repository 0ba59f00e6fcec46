/// \file LAMB (arXiv 1904.00962, algorithm 2): Adam's direction, scaled per tensor by the ratio of norms.
#include <algorithm>
#include <unordered_map>
#include <vector>

#include "baleen/optimizer.hpp"

BALEEN_DESCRIPTOR("optimizer", "lamb", "1.0.0", "Apache-2.0",
                  "Layer-wise adaptive rates for large batches (arXiv 1904.00962)", 0, "",
                  BALEEN_OPTION("lr", BALEEN_OPTION_SCHEDULE, BALEEN_OPTION_PER_GROUP, 0, 1e9, "1e-3", "", "",
                                "learning rate"),
                  BALEEN_OPTION("beta1", BALEEN_OPTION_FLOAT, BALEEN_OPTION_PER_GROUP, 0, 1, "0.9", "", "",
                                "decay of the mean of gradients, below 1"),
                  BALEEN_OPTION("beta2", BALEEN_OPTION_FLOAT, BALEEN_OPTION_PER_GROUP, 0, 1, "0.999", "", "",
                                "decay of the mean of squared gradients, below 1"),
                  BALEEN_OPTION("epsilon", BALEEN_OPTION_FLOAT, BALEEN_OPTION_PER_GROUP, 0, 1e9, "1e-6", "", "",
                                "added to the root of the second moment"),
                  BALEEN_OPTION("weight_decay", BALEEN_OPTION_FLOAT, BALEEN_OPTION_PER_GROUP, 0, 1e9, "0.01", "", "",
                                "share of the parameter that joins the direction before its norm is taken"),
                  BALEEN_OPTION("apply_groups", BALEEN_OPTION_INT, BALEEN_OPTION_PER_GROUP, 1, 100000, "1", "", "",
                                "in how many groups of like size all would be updated, if all had this number"));

namespace {

using namespace baleen;
using namespace baleen::sdk;

std::int64_t elements_of(const Update& update) {
  const baleen_value_info_t info = update.parameter().info();
  std::int64_t count = 1;
  for (std::uint32_t d = 0; d < info.rank; ++d) count *= info.shape[d];
  return count;
}

class Lamb : public Optimizer {
 public:
  static Result<std::unique_ptr<Lamb>> create(const Host&, const Settings&) { return std::make_unique<Lamb>(); }

  /// The norms are of whole tensors, so no slice can be updated alone.
  baleen_optimizer_traits_t traits() const override { return 0; }

  Result<std::vector<Slot>> slots(const Settings& settings) const override {
    for (const char* beta : {"beta1", "beta2"})
      if (settings.number(beta) >= 1) return invalid("lamb: `" + std::string(beta) + "` must be below 1");
    return std::vector<Slot>{{"m"}, {"v"}};
  }

  /// Neighbours in groups of like numbers of elements: of a parameter, a part of all that its `apply_groups` says.
  Status begin(std::span<const Update> updates) override {
    moves_.clear();
    groups_.assign(1, {});
    double all = 0, filled = 0;  // of the last group
    for (const Update& update : updates) all += static_cast<double>(elements_of(update));
    for (const Update& update : updates) {
      if (!groups_.back().empty() && filled >= 1) {
        groups_.emplace_back();
        filled -= 1;
      }
      groups_.back().push_back(update);
      const auto groups = static_cast<double>(update.settings().integer("apply_groups"));
      filled += static_cast<double>(elements_of(update)) / all * groups;
    }
    return {};
  }

  Result<NewValues> update(const Update& update) override {
    auto found = moves_.find(update.parameter().id());
    if (found == moves_.end()) {
      prepare(update.parameter().id());
      found = moves_.find(update.parameter().id());
    }
    if (found == moves_.end())
      return internal("lamb: `" + std::string(update.name()) + "` was not among begin's updates");
    const Move& move = found->second;
    const Value parameter_norm = sqrt(move.parameter_squares), direction_norm = sqrt(move.direction_squares);
    // A norm of 0 (a fresh bias, a gradient of zeros) leaves the plain rate.
    const Value usable = less(0.0, parameter_norm) * less(0.0, direction_norm);
    const Value ratio = select(usable, parameter_norm / direction_norm, 1.0);
    return NewValues{update.parameter() - update.schedule("lr") * ratio * move.direction, {move.m, move.v}};
  }

 private:
  /// Builds every direction of a group, then every sum of squares side by side, so that where tensors are sharded the
  /// core can add the partial sums of all of them in one small collective. What is held at once is a group's.
  void prepare(baleen_value_t parameter) {
    for (const std::vector<Update>& group : groups_) {
      if (std::ranges::none_of(group, [&](const Update& u) { return u.parameter().id() == parameter; })) continue;
      for (const Update& update : group) moves_.emplace(update.parameter().id(), direction(update));
      for (const Update& update : group) {
        Move& move = moves_.at(update.parameter().id());
        move.parameter_squares = sum(update.parameter() * update.parameter());
        move.direction_squares = sum(move.direction * move.direction);
      }
    }
  }

  struct Move {
    Value direction, m, v;
    Value parameter_squares, direction_squares;
  };

  /// r = m̂ / (sqrt(v̂) + epsilon) + weight_decay w.
  static Move direction(const Update& update) {
    const Settings settings = update.settings();
    const double beta1 = settings.number("beta1"), beta2 = settings.number("beta2");
    const double decay = settings.number("weight_decay");
    const Value g = update.gradient(), t = update.count() + 1.0;
    const Value m = beta1 * update.slot(0) + (1 - beta1) * g;
    const Value v = beta2 * update.slot(1) + (1 - beta2) * (g * g);
    const Value corrected = m / one_minus_power(beta1, t);
    Value r = corrected / (sqrt(v / one_minus_power(beta2, t)) + settings.number("epsilon"));
    if (decay != 0) r = r + decay * update.parameter();
    return {r, m, v, {}, {}};
  }

  std::vector<std::vector<Update>> groups_;         // of the graph between begin and its updates
  std::unordered_map<baleen_value_t, Move> moves_;  // of the groups that were begun
};

}  // namespace

BALEEN_OPTIMIZER(Lamb);
