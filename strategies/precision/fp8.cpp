/// \file Finds the products, puts scaled casts in front of them and takes the scales off behind them.
#include "fp8.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>

#include "baleen/fp8.hpp"
#include "baleen/pattern.hpp"

namespace baleen::precision {
namespace {

using Ids = std::vector<baleen_value_t>;

Ids inputs_of(GraphView& graph, baleen_op_t op) {
  const auto inputs = graph.op(op)->inputs();
  return {inputs.begin(), inputs.end()};
}

bool has_elements(const baleen_value_info_t& value) {
  return value.rank > 0 && std::none_of(value.shape, value.shape + value.rank, [](auto n) { return n == 0; });
}

}  // namespace

/// The parameter that an operand is, or shows; none for others.
baleen_value_t Fp8::weight_of(baleen_value_t operand) {
  const baleen_value_info_t info = graph_.value(operand);
  if (info.role == BALEEN_ROLE_PARAMETER) return graph_.master_parameter(operand);
  if (!(graph_.info(info.producer).traits & BALEEN_TRAIT_VIEW)) return BALEEN_NONE;
  return weight_of(inputs_of(graph_, info.producer)[0]);
}

bool Fp8::is_kept(baleen_value_t weight) {
  const std::string name(view(graph_.value(weight).name));
  return std::any_of(options_.keep.begin(), options_.keep.end(),
                     [&](const std::string& pattern) { return matches(pattern, name); });
}

/// A matmul of two tensors in 16 bits.
bool Fp8::is_product(baleen_op_t op) {
  if (graph_.op(op)->kind() != "matmul") return false;
  const Ids inputs = inputs_of(graph_, op);
  return std::all_of(inputs.begin(), inputs.begin() + 2, [&](baleen_value_t v) {
    const baleen_value_info_t value = graph_.value(v);
    return value.dtype == half_ && has_elements(value);
  });
}

/// Of activations and weights, and those that make their gradients. Attention's products have no weights.
void Fp8::find_products() {
  std::set<baleen_op_t> forward;
  for (const baleen_op_t op : graph_.ordered()) {
    if (!is_product(op)) continue;
    const baleen_op_info_t info = graph_.info(op);
    bool is_wanted = info.phase == BALEEN_PHASE_BACKWARD && forward.contains(info.twin);
    if (info.phase == BALEEN_PHASE_FORWARD) {
      const Ids inputs = inputs_of(graph_, op);
      const std::array weights{weight_of(inputs[0]), weight_of(inputs[1])};
      const auto is_weight = [](baleen_value_t w) { return w != BALEEN_NONE; };
      is_wanted =
          std::any_of(weights.begin(), weights.end(), is_weight) &&
          std::none_of(weights.begin(), weights.end(), [&](baleen_value_t w) { return is_weight(w) && is_kept(w); });
      if (is_wanted) forward.insert(op);
    }
    if (is_wanted) products_.push_back(op);
  }
}

Status Fp8::check() {
  Ids parameters;
  for (baleen_value_t id = 0; id < graph_.value_count(); ++id)
    if (graph_.value(id).role == BALEEN_ROLE_PARAMETER) parameters.push_back(id);
  for (const std::string& pattern : options_.keep)
    if (std::none_of(parameters.begin(), parameters.end(),
                     [&](baleen_value_t id) { return matches(pattern, view(graph_.value(id).name)); }))
      return invalid("`fp8_keep` names `" + pattern +
                     "`, and no parameter is called so; take names of parameters, with * for any text");
  find_products();
  if (products_.empty())
    return invalid(
        "products = \"fp8\", and no product of a weight is left for 8 bits: `keep` and `fp8_keep` leave all as they "
        "are, or the model has none (a loss fused with its projection, attention and lookups stay in 16 bits)");
  return {};
}

/// After the parameter, or after the layer whose product reads it first.
std::string Fp8::name_of(baleen_op_t product, baleen_value_t operand, baleen_dtype_t dtype) {
  const baleen_value_t weight = weight_of(operand);
  std::string name;
  if (weight != BALEEN_NONE) {
    name = view(graph_.value(weight).name);
  } else {
    const baleen_op_t twin = graph_.info(product).twin;
    name = graph_.op(twin == BALEEN_NONE ? product : twin)->name();
    if (name.empty()) name = "product";
    name += dtype == BALEEN_E5M2 ? ".cotangent" : ".input";
  }
  const std::string first = name;
  for (int number = 2; !names_.insert(name).second; ++number) name = first + "." + std::to_string(number);
  return name;
}

/// largest / (max(history) 2^margin); 1 while the history is empty.
void Fp8::read_scale(Tensor& tensor) {
  const std::int64_t shape[] = {options_.history};
  tensor.history = value(graph_.add_state("fp8." + tensor.name + ".amax", gradients_.dtype(), 0, shape));
  OpBuilder build(graph_);
  const Value most = value(build.reduce("max", tensor.history.id(), {0}, false));
  const double largest = static_cast<double>(fp8_largest(tensor.dtype)) * std::exp2(-options_.margin);
  const Value scale = largest / most;
  // So large a scale, of so small a number, has no inverse either.
  const Value usable = is_finite(scale) * is_finite(most / largest) * less(0.0, most / largest);
  tensor.scale = select(usable, scale, 1.0);
  tensor.inverse = 1.0 / tensor.scale;
}

Value Fp8::largest_of(baleen_value_t operand) {
  OpBuilder build(graph_);
  std::vector<std::int64_t> dims(graph_.value(operand).rank);
  std::iota(dims.begin(), dims.end(), 0);
  return value(build.reduce("max", abs(value(operand)).id(), dims, false, gradients_.dtype()));
}

Fp8::Tensor& Fp8::tensor(baleen_op_t product, baleen_value_t operand) {
  if (const auto found = tensors_.find(operand); found != tensors_.end()) return found->second;
  const baleen_phase_t made = graph_.info(graph_.value(operand).producer).phase;
  Tensor made_now;
  made_now.dtype = made == BALEEN_PHASE_BACKWARD ? BALEEN_E5M2 : BALEEN_E4M3;
  made_now.name = name_of(product, operand, made_now.dtype);
  graph_.follow(product);
  read_scale(made_now);
  made_now.largest = largest_of(operand);
  graph_.place_behind(graph_.value(made_now.largest.id()).producer, product);
  order_.push_back(operand);
  return tensors_.emplace(operand, std::move(made_now)).first->second;
}

/// A weight is cast in each pass, from what is there then: where it is gathered for each of them, nothing of it is held
/// between.
baleen_value_t Fp8::quantised(baleen_op_t product, baleen_value_t operand) {
  Tensor& own = tensor(product, operand);
  const baleen_phase_t phase = weight_of(operand) == BALEEN_NONE ? BALEEN_PHASE_FORWARD : graph_.info(product).phase;
  const auto found = own.quantised.find(phase);
  if (found != own.quantised.end()) return found->second;
  graph_.follow(product);
  Expression e;
  const auto scaled = e.binary(BALEEN_X_MUL, e.input(0), e.input(1));
  const baleen_value_t made = OpBuilder(graph_).pointwise({operand, own.scale.id()}, e, scaled, {}, own.dtype);
  graph_.set_tag(graph_.value(made).producer, "fp8", "operand");
  return own.quantised[phase] = made;
}

/// y = a b + c becomes y = (8 bits of a)(8 bits of b) / scales + c: the product of fp32, rounded once behind the
/// scales.
void Fp8::rewrite(baleen_op_t product) {
  const Ids inputs = inputs_of(graph_, product);
  const baleen_value_t y = graph_.op(product)->outputs()[0];
  const Ids operands{quantised(product, inputs[0]), quantised(product, inputs[1])};
  graph_.follow(product);
  Ids read{y, tensors_.at(inputs[0]).inverse.id(), tensors_.at(inputs[1]).inverse.id()};
  Expression e;
  auto result = e.binary(BALEEN_X_MUL, e.binary(BALEEN_X_MUL, e.input(0), e.input(1)), e.input(2));
  if (inputs.size() > 2) {
    result = e.binary(BALEEN_X_ADD, result, e.input(3));
    read.push_back(inputs[2]);
  }
  const std::vector<std::int64_t> dtype{graph_.value(y).dtype}, wide{BALEEN_F32};
  const baleen_value_t made = graph_.append(
      "pointwise", read,
      AttributeList().expression("expression", e.code).integer("results", result).integers("dtype", dtype));
  const baleen_op_t behind = graph_.value(made).producer;
  graph_.set_tag(behind, "fp8", "result");
  graph_.place_behind(behind, product);  // a weight's gradient is needed last, and is to be summed meanwhile
  graph_.redirect(y, made, behind);
  graph_.amend(product, operands, wide);
  graph_.amend(behind, read, dtype);
  replaced_[y] = made;
}

void Fp8::rewrite() {
  position_ = value(graph_.add_state("fp8.position", gradients_.dtype(), 0));
  const Value next = position_ + 1.0;
  counted_ = select(less(next, static_cast<double>(options_.history)), next, 0.0);
  for (const baleen_op_t product : products_) rewrite(product);
  graph_.follow(counted_.info().producer);
  const std::vector<baleen_gradient_t> all = gradients_.all();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto now = [&](baleen_value_t v) { return replaced_.contains(v) ? replaced_.at(v) : v; };
    const baleen_value_t gradient = now(all[i].gradient), update = now(all[i].value);
    if (gradient != all[i].gradient || update != all[i].value) gradients_.replace(i, gradient, update);
  }
}

/// The entry of step n is number n modulo the length. What is not finite is not entered.
void Fp8::update(const Value& applied) {
  graph_.follow(counted_.info().producer);
  graph_.assign(position_.id(), (applied ? select(applied, counted_, position_) : counted_).id());
  for (const baleen_value_t operand : order_) {
    const Tensor& own = tensors_.at(operand);
    const Value finite = is_finite(own.largest), counts = applied ? finite * applied : finite;
    Expression e;
    const auto here = e.binary(BALEEN_X_EQ, e.index(0), e.input(2));
    const auto entered = e.select(here, e.select(e.input(3), e.input(1), e.input(0)), e.input(0));
    const baleen_value_t next =
        OpBuilder(graph_).pointwise({own.history.id(), own.largest.id(), position_.id(), counts.id()}, e, entered);
    graph_.assign(own.history.id(), next);
    graph_.set_tag(graph_.value(next).producer, "fp8", "history");
  }
}

/// Nothing waits for them before the update.
void coalesce_largest(GraphView graph, Scheduling scheduling) {
  std::set<baleen_value_t> entered;
  for (baleen_op_t id = 0; id < graph.op_count(); ++id)
    if (const auto op = graph.op(id); op && graph.tag(id, "fp8") == "history")
      entered.insert(op->inputs().begin(), op->inputs().end());
  std::map<std::vector<std::int64_t>, std::vector<baleen_op_t>> by_axes;
  for (const baleen_op_t id : graph.ordered()) {
    const auto op = graph.op(id);
    if (op->kind() != "all_reduce" || !entered.contains(op->outputs()[0])) continue;
    const auto axes = op->integers("axes");
    by_axes[{axes.begin(), axes.end()}].push_back(id);
  }
  for (const auto& [axes, ops] : by_axes) scheduling.coalesce(ops);
}

}  // namespace baleen::precision
