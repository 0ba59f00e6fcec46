/// \file Two exchanges: parts to those who add them up, sums to all (Tang et al., arXiv 2102.02888, section 6; Seide et
/// al., Interspeech 2014, for errors that are fed back). In 1 bit each element is divided by its size in the warm-up:
/// what Tang et al. freeze inside Adam stands here, so any optimizer sees elements of their own sizes.
#include "quantised.hpp"

namespace baleen::compress {
namespace {

class Quantised {
 public:
  Quantised(GraphView graph, const Reduction& reduction, const Options& options, const States& states)
      : region_(graph, reduction, options.word), reduction_(reduction), options_(options), states_(states) {}

  void run() {
    const Value sum = add_up();
    region_.close(reduction_.scatters ? sum : give_to_all(sum));
  }

 private:
  AttributeList format() const {
    return AttributeList().integer("bits", options_.method == Method::bits ? 1 : 8).integer("block", options_.block);
  }
  Value quantise(Value rows) { return region_.apply("quantise", rows, format()); }
  Value restore(Value words) {
    return region_.apply("dequantise", words, format().integer("columns", reduction_.part()));
  }

  /// What each element is divided by while it travels: how large it was in the warm-up. An element that was 0 all the
  /// time has a tenth of the root mean square of all; without a warm-up it is 1 for all.
  void find_scales() {
    if (!states_.square) return;
    const Value square = region_.open_state(states_.square.state, reduction_.local, {reduction_.elements()});
    const Value mean = region_.sum_of_rows(square) / static_cast<double>(reduction_.elements());
    scales_ = select(less_equal(mean, 0.0), 1.0, sqrt(square + 0.01 * mean));
  }
  Value scaled(Value x) const { return scales_ ? x * scales_ : x; }

  /// This rank's part of the sum, [part].
  Value add_up() {
    const std::int64_t part = reduction_.part(), ranks = reduction_.ranks, own = reduction_.elements();
    const std::vector<std::int64_t> piece{1, own};
    find_scales();
    Value term = region_.open();
    if (states_.error) term = term + region_.open_state(states_.error.state, piece, {own});
    const Value rows = region_.reshape(region_.resize(scales_ ? term / scales_ : term, ranks * part), {ranks, part});
    const Value words = quantise(rows);
    if (states_.error) {
      const Value sent = region_.resize(region_.reshape(restore(words), {ranks * part}), own);
      region_.close_state(finite(term - scaled(sent)), states_.error.state, states_.error.next, piece);
    }
    const Value all = region_.exchange_rows(words);
    if (reduction_.scatters) region_.received();
    const Value sum = region_.sum_of_rows(restore(all));
    return scales_ ? sum * own_scales() : sum;
  }

  /// The scales of this rank's part; elements behind the last have 1.
  Value own_scales() {
    const std::int64_t missing = reduction_.ranks * reduction_.part() - reduction_.elements();
    const Value all = region_.resize(scales_, reduction_.ranks * reduction_.part());
    return missing == 0 ? region_.own_part(all)
                        : select(less_equal(region_.own_part(all), 0.0), 1.0, region_.own_part(all));
  }

  /// All of the sum.
  Value give_to_all(Value sum) {
    const std::int64_t part = reduction_.part();
    if (states_.behind) sum = sum + region_.open_state(states_.behind.state, {part}, {part});
    const Value own = scales_ ? own_scales() : Value();
    const Value words = quantise(region_.reshape(own ? sum / own : sum, {1, part}));
    if (states_.behind) {
      const Value sent = region_.reshape(restore(words), {part});
      region_.close_state(finite(sum - (own ? sent * own : sent)), states_.behind.state, states_.behind.next, {part});
    }
    const Value all = region_.gather_rows(words);
    region_.received();
    const Value whole = region_.reshape(restore(all), {reduction_.ranks * part});
    const Value received = scaled(region_.resize(whole, reduction_.elements()));
    if (states_.mean) follow(received);
    return received;
  }

  /// Elements change their size after the warm-up. What is received of each has the size of its scale, but where the
  /// scale is too large its signs alternate, since errors are fed back: so sizes show in running means.
  void follow(Value received) {
    constexpr double kMean = 0.9, kSquare = 0.99, kTerms = (1 + kMean) / (1 - kMean);  // as many white terms' variance
    const std::vector<std::int64_t>& piece = reduction_.local;
    const Value before = region_.open_state(states_.mean.state, piece, {reduction_.elements()});
    const Value square = region_.open_state(states_.square.state, piece, {reduction_.elements()});
    const Value mean = finite(kMean * before + (1 - kMean) * received);
    region_.close_state(mean, states_.mean.state, states_.mean.next, piece);
    region_.close_state(finite(kSquare * square + (1 - kSquare) * kTerms * (mean * mean)), states_.square.state,
                        states_.square.next, piece);
  }

  Region region_;
  const Reduction& reduction_;
  const Options& options_;
  const States& states_;
  Value scales_;  ///< [elements]; none: elements travel as they are
};

}  // namespace

void lower_quantised(GraphView graph, const Reduction& reduction, const Options& options, const States& states) {
  Quantised(graph, reduction, options, states).run();
}

}  // namespace baleen::compress
