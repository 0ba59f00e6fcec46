/// \file Scales the loss, divides the gradients, and keeps the scale.
#include "scaler.hpp"

#include <algorithm>
#include <sstream>

namespace baleen::precision {
namespace {

/// A pointwise op that gives what it reads, in another dtype.
bool is_cast(GraphView& graph, baleen_op_t id) {
  if (id == BALEEN_NONE || !(graph.info(id).traits & BALEEN_TRAIT_POINTWISE)) return false;
  const auto op = graph.op(id);
  const auto code = op->expression("expression");
  return op->inputs().size() == 1 && op->outputs().size() == 1 && code.size() == 1 &&
         code[0].opcode == BALEEN_X_INPUT && graph.value(op->inputs()[0]).rank == graph.value(op->outputs()[0]).rank;
}

/// Whether a pointwise op adds up what it reads.
bool is_sum(const Op& op) {
  const auto code = op.expression("expression");
  return std::all_of(code.begin(), code.end(), [](const baleen_instruction_t& i) {
    return i.opcode == BALEEN_X_INPUT || i.opcode == BALEEN_X_ADD;
  });
}

std::string persistent_overflow(const ScalerOptions& options) {
  const std::string steps = std::to_string(options.patience) + " steps in a row were skipped at the ";
  const std::string cause =
      ": gradients are not finite whatever the scale, so the model itself overflows or the data holds a NaN";
  if (options.scaling == Scaling::fixed)
    return "strategy `precision`: " + steps + "loss scale " + text(options.initial) +
           "; take a smaller `loss_scale`, or loss_scale = \"dynamic\"";
  return "strategy `precision`: " + steps + "smallest loss scale, " + text(options.least) + cause +
         "; lower the learning rate or warm up longer, `keep` layers with large numbers in fp32, or take dtype = "
         "\"bf16\"";
}

}  // namespace

std::string text(double number) {
  std::ostringstream out;
  out << number;
  return out.str();
}

Value Scaler::state(std::string_view name, double initial) {
  return value(graph_.add_state(name, gradients_.dtype(), initial));
}

/// The gradient before it was cast to the parameter's dtype, or what that can be made to be.
baleen_value_t Scaler::summed(baleen_value_t gradient) {
  const baleen_op_t cast = graph_.value(gradient).producer;
  if (!is_cast(graph_, cast)) return gradient;
  const baleen_value_t narrow = graph_.op(cast)->inputs()[0];
  return dtype_ == GradientDtype::same || widen(narrow) ? narrow : gradient;
}

/// Who sums products in fp32 need not round the sum on its way: says so to who makes `v`, and to whose sum it is.
bool Scaler::widen(baleen_value_t v) {
  const baleen_value_info_t info = graph_.value(v);
  const baleen_traits_t traits = graph_.info(info.producer).traits;
  const auto op = graph_.op(info.producer);
  const std::vector<baleen_value_t> inputs(op->inputs().begin(), op->inputs().end());
  if (info.user_count != 1 || op->outputs().back() != v) return false;
  if (traits & BALEEN_TRAIT_VIEW) {
    if (!widen(inputs[0])) return false;
    graph_.amend(info.producer, inputs);
    return true;
  }
  if (!(traits & BALEEN_TRAIT_TYPED)) return false;
  if (traits & BALEEN_TRAIT_POINTWISE && is_sum(*op))
    for (const baleen_value_t term : inputs) widen(term);
  const std::int64_t wide[] = {gradients_.dtype()};
  graph_.amend(info.producer, inputs, wide);
  return true;
}

void Scaler::replace_gradients(const Value& inverse) {
  const std::vector<baleen_gradient_t> all = gradients_.all();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const baleen_value_t sum = summed(all[i].gradient);
    const bool narrow = graph_.value(sum).dtype != gradients_.dtype();
    if (inverse)
      gradients_.replace(i, sum, (value(sum) * inverse).id());
    else if (sum != all[i].gradient)
      gradients_.replace(i, sum, narrow ? graph_.cast(sum, gradients_.dtype()) : sum);
  }
}

/// Grows after `interval` good steps; falls after as many bad ones as `hysteresis` has left.
Value Scaler::next_scale(const Value& scale, const Value& finite) {
  const Value good = state("good_steps", 0), left = state("hysteresis", static_cast<double>(options_.hysteresis));
  const Value counted = good + 1.0, spent = left - 1.0;
  const Value full = less_equal(static_cast<double>(options_.interval), counted);
  const Value larger = scale * options_.growth;
  const Value grown = select(full, select(is_finite(larger), larger, scale), scale);
  const Value fallen = select(less(0.0, spent), scale, max(scale * options_.backoff, options_.least));
  graph_.assign(good.id(), select(finite, select(full, 0.0, counted), 0.0).id());
  graph_.assign(left.id(),
                select(finite, select(full, static_cast<double>(options_.hysteresis), left), max(spent, 0.0)).id());
  const Value next = select(finite, grown, fallen);
  graph_.assign(scale.id(), next.id());
  return next;
}

void Scaler::count_skipped(const Value& scale, const Value& finite) {
  const Value skipped = state("skipped", 0), stuck = state("stuck", 0);
  const Value skips = skipped + (1.0 - finite);
  const Value waits = select(finite, 0.0, select(less_equal(scale, options_.least), stuck + 1.0, stuck));
  graph_.assign(skipped.id(), skips.id());
  graph_.assign(stuck.id(), waits.id());
  gradients_.show("skipped", skips.id());
  gradients_.stop(less_equal(static_cast<double>(options_.patience), waits).id(), persistent_overflow(options_));
}

Value Scaler::run() {
  if (options_.scaling == Scaling::none) {
    replace_gradients({});
    return {};
  }
  const Value scale = state("loss_scale", options_.initial);
  replace_gradients(1.0 / scale);
  const Value finite = is_finite(value(gradients_.norm()));
  gradients_.apply(finite.id());
  count_skipped(scale, finite);
  gradients_.show("loss_scale", (options_.scaling == Scaling::dynamic ? next_scale(scale, finite) : scale).id());
  const baleen_op_t seed = graph_.value(gradients_.seed()).producer;
  graph_.follow(seed);
  const Value scaled = value(gradients_.seed()) * scale;
  graph_.redirect(gradients_.seed(), scaled.id(), scaled.info().producer);
  return finite;
}

}  // namespace baleen::precision
