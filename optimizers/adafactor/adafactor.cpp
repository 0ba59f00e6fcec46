/// \file Adafactor (arXiv 1804.04235, algorithms 4 and 5): second moments kept as one number per row and per column.
#include "baleen/optimizer.hpp"

BALEEN_DESCRIPTOR("optimizer", "adafactor", "1.0.0", "Apache-2.0",
                  "Second moments of rows and columns in place of elements (arXiv 1804.04235)", 0, "",
                  BALEEN_OPTION("lr", BALEEN_OPTION_SCHEDULE, BALEEN_OPTION_PER_GROUP, 0, 1e9, "1e-2", "", "",
                                "most of the relative step; 1/sqrt(step) where that is less"),
                  BALEEN_OPTION("decay", BALEEN_OPTION_FLOAT, BALEEN_OPTION_PER_GROUP, 0, 1, "0.8", "", "",
                                "second moments decay by 1 - step^-decay"),
                  BALEEN_OPTION("epsilon1", BALEEN_OPTION_FLOAT, BALEEN_OPTION_PER_GROUP, 0, 1, "1e-30", "", "",
                                "added to squared gradients, above 0"),
                  BALEEN_OPTION("epsilon2", BALEEN_OPTION_FLOAT, BALEEN_OPTION_PER_GROUP, 0, 1e9, "1e-3", "", "",
                                "a parameter's root mean square counts as at least this"),
                  BALEEN_OPTION("clip", BALEEN_OPTION_FLOAT, BALEEN_OPTION_PER_GROUP, 0, 1e9, "1", "", "",
                                "most of the update's root mean square, above 0"),
                  BALEEN_OPTION("weight_decay", BALEEN_OPTION_FLOAT, BALEEN_OPTION_PER_GROUP, 0, 1e9, "0", "", "",
                                "share of the parameter, times the rate, that is taken off each step"));

namespace {

using namespace baleen;
using namespace baleen::sdk;

/// The two largest dimensions; among equals the earlier ones. Nothing where fewer than two are larger than 1.
struct Matrix {
  std::int64_t row = 0, column = 0;
};
std::optional<Matrix> matrix_of(std::span<const std::int64_t> shape) {
  std::optional<std::size_t> first, second;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] < 2) continue;
    if (!first || shape[d] > shape[*first]) {
      second = first;
      first = d;
    } else if (!second || shape[d] > shape[*second]) {
      second = d;
    }
  }
  if (!second) return std::nullopt;
  return Matrix{static_cast<std::int64_t>(*first), static_cast<std::int64_t>(*second)};
}

std::vector<std::int64_t> shape_of(Value x) {
  const baleen_value_info_t info = x.info();
  return {info.shape, info.shape + info.rank};
}

double count_of(Value x) {
  double count = 1;
  for (const std::int64_t extent : shape_of(x)) count *= static_cast<double>(extent);
  return count;
}

Value root_mean_square(Value x) { return sqrt(sum(x * x) * (1 / count_of(x))); }

Value mean(Value x, std::int64_t dim) {
  return sum(x, {&dim, 1}, true) * (1 / static_cast<double>(shape_of(x)[static_cast<std::size_t>(dim)]));
}

class Adafactor : public Optimizer {
 public:
  static Result<std::unique_ptr<Adafactor>> create(const Host&, const Settings&) {
    return std::make_unique<Adafactor>();
  }

  baleen_optimizer_traits_t traits() const override { return 0; }

  Result<std::vector<Slot>> slots_of(const SlotsFor& parameter) const override {
    for (const char* name : {"epsilon1", "clip"})
      if (parameter.settings().number(name) <= 0)
        return invalid("adafactor: `" + std::string(name) + "` must be above 0");
    const auto matrix = matrix_of(parameter.shape());
    if (!matrix) return std::vector<Slot>{{"v"}};
    return std::vector<Slot>{without(matrix->column, "row", parameter), without(matrix->row, "column", parameter)};
  }

  Result<NewValues> update(const Update& update) override {
    const Settings settings = update.settings();
    const double decay = settings.number("weight_decay");
    const Value w = update.parameter(), g = update.gradient(), t = update.count() + 1.0;
    const Value kept = 1.0 - pow(t, -settings.number("decay"));
    const Value squares = g * g + settings.number("epsilon1");

    std::vector<Value> slots;
    Value u;
    if (const auto matrix = matrix_of(shape_of(w))) {
      const Value row = kept * update.slot(0) + (1.0 - kept) * mean(squares, matrix->column);
      const Value column = kept * update.slot(1) + (1.0 - kept) * mean(squares, matrix->row);
      // Two roots, not the root of the product: in fp32 that of two epsilons is 0.
      u = g * rsqrt(row / mean(row, matrix->row)) * rsqrt(column);
      slots = {row, column};
    } else {
      const Value v = kept * update.slot(0) + (1.0 - kept) * squares;
      u = g * rsqrt(v);
      slots = {v};
    }
    const Value clipped = u / max(1.0, root_mean_square(u) / settings.number("clip"));
    const Value relative = min(update.schedule("lr"), rsqrt(t));
    const Value rate = relative * max(settings.number("epsilon2"), root_mean_square(w));
    const Value rest = decay != 0 ? w * (1.0 - relative * decay) : w;
    return NewValues{rest - rate * clipped, std::move(slots)};
  }

 private:
  /// Of the parameter's dimensions, with 1 in place of `dim`.
  static Slot without(std::int64_t dim, std::string name, const SlotsFor& parameter) {
    std::vector<SlotDimension> dimensions;
    for (std::size_t d = 0; d < parameter.shape().size(); ++d)
      dimensions.push_back(static_cast<std::int64_t>(d) == dim ? SlotDimension{} : parameter.dimension(d));
    Slot slot{std::move(name)};
    slot.dimensions = std::move(dimensions);
    return slot;
  }
};

}  // namespace

BALEEN_OPTIMIZER(Adafactor);
