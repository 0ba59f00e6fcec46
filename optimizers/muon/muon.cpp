/// \file Muon (Jordan et al. 2024, kellerjordan.github.io/posts/muon): momentum, made orthogonal by Newton-Schulz
/// steps.
#include "baleen/optimizer.hpp"

BALEEN_DESCRIPTOR("optimizer", "muon", "1.0.0", "Apache-2.0",
                  "Orthogonal steps for matrices, AdamW for the rest (Jordan 2024)", 0, "",
                  BALEEN_OPTION("lr", BALEEN_OPTION_SCHEDULE, BALEEN_OPTION_PER_GROUP, 0, 1e9, "0.02", "", "",
                                "learning rate of matrices"),
                  BALEEN_OPTION("rule", BALEEN_OPTION_STRING, BALEEN_OPTION_PER_GROUP, 1, 0, "muon", "muon|adamw", "",
                                "adamw: for matrices too (embeddings, heads)"),
                  BALEEN_OPTION("momentum", BALEEN_OPTION_FLOAT, BALEEN_OPTION_PER_GROUP, 0, 1, "0.95", "", "",
                                "share of the last step that is kept, below 1"),
                  BALEEN_OPTION("nesterov", BALEEN_OPTION_BOOL, BALEEN_OPTION_PER_GROUP, 0, 1, "true", "", "",
                                "look one momentum step ahead"),
                  BALEEN_OPTION("steps", BALEEN_OPTION_INT, BALEEN_OPTION_PER_GROUP, 1, 20, "5", "", "",
                                "Newton-Schulz steps"),
                  BALEEN_OPTION("weight_decay", BALEEN_OPTION_FLOAT, BALEEN_OPTION_PER_GROUP, 0, 1e9, "0", "", "",
                                "share of the parameter, times the rate, that is taken off each step"),
                  BALEEN_OPTION("adamw_rate", BALEEN_OPTION_FLOAT, BALEEN_OPTION_PER_GROUP, 0, 1e9, "0.015", "", "",
                                "the rate of AdamW, in parts of `lr`"),
                  BALEEN_OPTION("beta1", BALEEN_OPTION_FLOAT, BALEEN_OPTION_PER_GROUP, 0, 1, "0.9", "", "",
                                "AdamW: decay of the mean of gradients, below 1"),
                  BALEEN_OPTION("beta2", BALEEN_OPTION_FLOAT, BALEEN_OPTION_PER_GROUP, 0, 1, "0.95", "", "",
                                "AdamW: decay of the mean of squared gradients, below 1"),
                  BALEEN_OPTION("epsilon", BALEEN_OPTION_FLOAT, BALEEN_OPTION_PER_GROUP, 0, 1e9, "1e-10", "", "",
                                "AdamW: added to the root of the second moment"));

namespace {

using namespace baleen;
using namespace baleen::sdk;

/// A parameter as a matrix: its first dimensions are the rows, the others the columns.
class Matrix {
 public:
  /// Split where rows and columns are most nearly as many. `shape` has two dimensions or more.
  explicit Matrix(std::span<const std::int64_t> shape) : rank_(shape.size()) {
    double all = 1, rows = 1, least = HUGE_VAL;
    for (const std::int64_t extent : shape) all *= static_cast<double>(extent);
    for (std::size_t d = 0; d + 1 < rank_; ++d) {
      rows *= static_cast<double>(shape[d]);
      const double ratio = std::max(rows * rows / all, all / (rows * rows));
      if (ratio >= least) continue;
      least = ratio;
      split_ = d + 1;
      rows_ = rows;
      columns_ = all / rows;
    }
  }

  double rows() const { return rows_; }
  double columns() const { return columns_; }

  /// The matrix with x's singular directions and singular values near 1: in each step s becomes as + bs³ + cs⁵.
  Value orthogonal(Value x, std::int64_t steps) const {
    constexpr double kA = 3.4445, kB = -4.7750, kC = 2.0315;
    // The products' letters: of the smaller side with itself, of that squared, and of that with x.
    const bool wide = rows_ <= columns_;
    const std::string r = letters('a', 0, split_), k = letters('a', split_, rank_);
    const std::string s = wide ? r : k;
    const std::size_t first = wide ? 0 : split_, last = wide ? split_ : rank_;
    const std::string t = letters('A', first, last), u = letters('p', first, last);
    const std::string other = wide ? t + k : r + t;
    x = whole(x / (norm(x) + 1e-7));
    for (std::int64_t step = 0; step < steps; ++step) {
      const Value squares = matmul(r + k + "," + other + "->" + s + t, x, x);
      const Value polynomial = kB * squares + kC * matmul(s + t + "," + t + u + "->" + s + u, squares, squares);
      x = kA * x + matmul(s + t + "," + other + "->" + r + k, polynomial, x);
    }
    return x;
  }

 private:
  /// One per dimension: 'a' and up, 'A' and up, 'p' and up never meet, for there are at most 8.
  static std::string letters(char from, std::size_t first, std::size_t last) {
    std::string all;
    for (std::size_t d = first; d < last; ++d) all += static_cast<char>(from + static_cast<char>(d));
    return all;
  }

  std::size_t rank_, split_ = 1;
  double rows_ = 1, columns_ = 1;
};

class Muon : public Optimizer {
 public:
  static Result<std::unique_ptr<Muon>> create(const Host&, const Settings&) { return std::make_unique<Muon>(); }

  baleen_optimizer_traits_t traits() const override { return 0; }

  Result<std::vector<Slot>> slots_of(const SlotsFor& parameter) const override {
    for (const char* name : {"momentum", "beta1", "beta2"})
      if (parameter.settings().number(name) >= 1) return invalid("muon: `" + std::string(name) + "` must be below 1");
    if (is_matrix(parameter.shape(), parameter.settings())) return std::vector<Slot>{{"momentum"}};
    return std::vector<Slot>{{"m"}, {"v"}};
  }

  Result<NewValues> update(const Update& update) override {
    const baleen_value_info_t info = update.parameter().info();
    const std::span<const std::int64_t> shape(info.shape, info.rank);
    return is_matrix(shape, update.settings()) ? orthogonal_step(update, Matrix(shape)) : adamw_step(update);
  }

 private:
  static bool is_matrix(std::span<const std::int64_t> shape, const Settings& settings) {
    return shape.size() >= 2 && settings.text("rule") == "muon";
  }

  static NewValues orthogonal_step(const Update& update, const Matrix& matrix) {
    const Settings settings = update.settings();
    const double beta = settings.number("momentum");
    const Value g = update.gradient(), rate = update.schedule("lr");
    const Value momentum = beta * update.slot(0) + g;
    const Value direction = settings.boolean("nesterov") ? g + beta * momentum : momentum;
    const Value step = matrix.orthogonal(direction, settings.integer("steps"));
    const double scale = std::sqrt(std::max(1.0, matrix.columns() / matrix.rows()));
    return NewValues{decayed(update, rate) - (rate * scale) * step, {momentum}};
  }

  /// arXiv 1711.05101, algorithm 2.
  static NewValues adamw_step(const Update& update) {
    const Settings settings = update.settings();
    const double beta1 = settings.number("beta1"), beta2 = settings.number("beta2");
    const Value g = update.gradient(), t = update.count() + 1.0;
    const Value rate = update.schedule("lr") * settings.number("adamw_rate");
    const Value m = beta1 * update.slot(0) + (1 - beta1) * g;
    const Value v = beta2 * update.slot(1) + (1 - beta2) * (g * g);
    const Value root = sqrt(v) / sqrt(one_minus_power(beta2, t)) + settings.number("epsilon");
    return NewValues{decayed(update, rate) - (rate / one_minus_power(beta1, t)) * (m / root), {m, v}};
  }

  static Value decayed(const Update& update, Value rate) {
    const double decay = update.settings().number("weight_decay");
    return decay != 0 ? update.parameter() * (1.0 - rate * decay) : update.parameter();
  }
};

}  // namespace

BALEEN_OPTIMIZER(Muon);
