/// \file P = M Q is summed and made orthonormal, Q = M'P is summed, and P Q' takes the place of the sum of all M. What
/// a rank's own M has beside its share of that is its error.
#include "power.hpp"

#include <algorithm>

#include "baleen/expression_builder.hpp"

namespace baleen::compress {
namespace {

/// FNV-1a: a gradient's first factor depends on the job's seed, the step and the parameter's name.
std::uint64_t site_of(const std::string& name) {
  std::uint64_t h = 0xcbf29ce484222325ull;
  for (const unsigned char c : "compress:" + name) h = (h ^ c) * 0x100000001b3ull;
  return h;
}

class Power {
 public:
  Power(GraphView graph, const Reduction& reduction, const Options& options, const States& states)
      : graph_(graph),
        region_(graph, reduction, options.word),
        reduction_(reduction),
        states_(states),
        shape_(power_shape(reduction.whole, options.rank)) {}

  void run() {
    const std::int64_t own = reduction_.elements();
    const std::vector<std::int64_t> row{1, own}, factor{shape_.columns, shape_.rank};
    const Value term = region_.open() + region_.open_state(states_.error.state, row, {own});
    const Value m = region_.reshape(term, {shape_.rows, shape_.columns});
    const Value q = begun(region_.open_state(states_.factor.state, factor, factor));
    const Value p = region_.apply("orthonormal", region_.all_reduce(region_.product("mk,kr->mr", m, q), "left"));
    const Value own_q = region_.product("mk,mr->kr", m, p);
    const Value next = region_.all_reduce(own_q, "right");
    const Value sent = region_.product("mr,kr->mk", p, own_q);
    region_.close_state(finite(m - sent), states_.error.state, states_.error.next, row);
    region_.received();
    const Value sum = region_.product("mr,kr->mk", p, next);
    region_.close_state(finite(next), states_.factor.state, states_.factor.next, factor);
    const Value flat = region_.reshape(sum, {own});
    region_.close(reduction_.scatters ? region_.own_part(region_.resize(flat, reduction_.ranks * reduction_.part()))
                                      : flat);
  }

 private:
  /// Columns that have become 0, as all are at first, begin anew with random numbers, alike on all ranks.
  Value begun(Value q) {
    Expression noise;
    const std::int64_t result = noise.random(BALEEN_X_NORMAL, site_of(reduction_.name));
    const Value random{graph_.table(), graph_.append("pointwise", std::initializer_list<baleen_value_t>{},
                                                     AttributeList()
                                                         .expression("expression", noise.code)
                                                         .integer("results", result)
                                                         .integers("shape", {shape_.columns, shape_.rank})
                                                         .integer("dtype", BALEEN_F32))};
    graph_.set_layout(random.id(), Layout(reduction_.before.size(), replicate()));  // it reads nothing of the region
    const Value lengths =
        region_.apply("reduce", q * q, AttributeList().text("kind", "sum").integer("dims", 0).integer("keep", 1));
    return select(less_equal(lengths, 0.0), random, q);
  }

  GraphView graph_;
  Region region_;
  const Reduction& reduction_;
  const States& states_;
  PowerShape shape_;
};

}  // namespace

PowerShape power_shape(std::span<const std::int64_t> shape, std::int64_t rank) {
  PowerShape best{1, elements(shape), 1};
  std::int64_t rows = 1;
  for (const std::int64_t extent : shape) {
    rows *= extent;
    const std::int64_t columns = best.rows * best.columns / rows;
    if (rows + columns < best.rows + best.columns) best = {rows, columns, 1};
  }
  best.rank = std::min({rank, best.rows, best.columns});
  return best;
}

void lower_power(GraphView graph, const Reduction& reduction, const Options& options, const States& states) {
  Power(graph, reduction, options, states).run();
}

}  // namespace baleen::compress
