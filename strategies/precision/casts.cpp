/// \file Casts, kind by kind, as their traits say; compute copies of parameters.
#include "casts.hpp"

#include <algorithm>

#include "baleen/dtype.hpp"
#include "baleen/pattern.hpp"

namespace baleen::precision {

Status Casts::check() const {
  BALEEN_TRY(check_wide());
  return check_kept();
}

void Casts::run() {
  for (const baleen_op_t op : graph_.ordered()) visit(op);
}

/// Nothing has been cast yet: what the data holds in 16 bits is no matter.
Status Casts::check_wide() const {
  for (baleen_value_t id = 0; id < graph_.value_count(); ++id) {
    const baleen_value_info_t value = graph_.value(id);
    if (value.role == BALEEN_ROLE_INPUT || !is_floating(value.dtype) || dtype_size(value.dtype) > 2) continue;
    return invalid("`" + std::string(view(value.name)) + "` has been cast to " + std::string(dtype_name(value.dtype)) +
                   " by an earlier entry of the plan; leave one of the two out");
  }
  return {};
}

/// Each pattern of `keep` stands for a parameter.
Status Casts::check_kept() const {
  std::vector<std::string> names;
  for (baleen_value_t id = 0; id < graph_.value_count(); ++id)
    if (const baleen_value_info_t value = graph_.value(id); value.role == BALEEN_ROLE_PARAMETER)
      names.emplace_back(view(value.name));
  for (const std::string& pattern : options_.keep) {
    if (std::any_of(names.begin(), names.end(), [&](const auto& name) { return matches(pattern, name); })) continue;
    std::string some;
    for (std::size_t i = 0; i < names.size() && i < 4; ++i) some += (i ? ", `" : " `") + names[i] + "`";
    return invalid("`keep` names `" + pattern + "`, and no parameter is called so; take names of parameters, as" +
                   some + ", with * for any text");
  }
  return {};
}

void Casts::visit(baleen_op_t id) {
  const baleen_traits_t traits = graph_.info(id).traits;
  Values inputs, outputs;
  {
    const auto op = graph_.op(id);
    inputs.assign(op->inputs().begin(), op->inputs().end());
    outputs.assign(op->outputs().begin(), op->outputs().end());
  }
  if (inputs.empty()) {
    for (const baleen_value_t v : outputs) {
      const baleen_value_info_t value = graph_.value(v);
      facts_[v] = {is_kept_parameter(value), value.role == BALEEN_ROLE_INPUT};
    }
    return;
  }
  const bool floating = std::any_of(inputs.begin(), inputs.end(), [&](auto v) { return is_wide(v) || is_half(v); });
  if (!floating || (traits & BALEEN_TRAIT_STRUCTURAL)) return;
  if (traits & BALEEN_TRAIT_VIEW)
    visit_view(id, std::move(inputs), outputs);
  else if (traits & BALEEN_TRAIT_SENSITIVE)
    visit_other(id, std::move(inputs), outputs, false);
  else if (traits & BALEEN_TRAIT_PRODUCT)
    visit_product(id, std::move(inputs), outputs);
  else if (traits & BALEEN_TRAIT_POINTWISE)
    visit_pointwise(id, std::move(inputs), outputs);
  else
    visit_other(id, std::move(inputs), outputs, (traits & BALEEN_TRAIT_REDUCTION) != 0);
}

bool Casts::is_kept_parameter(const baleen_value_info_t& value) const {
  return value.role == BALEEN_ROLE_PARAMETER &&
         std::any_of(options_.keep.begin(), options_.keep.end(),
                     [&](const std::string& pattern) { return matches(pattern, view(value.name)); });
}

/// Whether someone reads a parameter, or a view of it, who is better off with 16 bits.
bool Casts::wants_form(baleen_value_t v) const {
  const baleen_value_info_t value = graph_.value(v);
  const std::vector<baleen_op_t> users(value.users, value.users + value.user_count);
  return std::any_of(users.begin(), users.end(), [&](baleen_op_t user) {
    const baleen_traits_t traits = graph_.info(user).traits;
    if (!(traits & BALEEN_TRAIT_VIEW)) return (traits & (BALEEN_TRAIT_SENSITIVE | BALEEN_TRAIT_STRUCTURAL)) == 0;
    GraphView graph = graph_;
    return wants_form(graph.op(user)->outputs()[0]);
  });
}

/// Its cast: of a parameter the compute copy that all share.
baleen_value_t Casts::in_half(baleen_value_t v) {
  if (const auto found = halves_.find(v); found != halves_.end()) return found->second;
  const baleen_value_t made = graph_.cast(v, options_.dtype);
  if (graph_.value(v).role == BALEEN_ROLE_PARAMETER)
    graph_.set_tag(graph_.value(made).producer, "compute_copy", "cast");
  return halves_[v] = made;
}

void Casts::halve(Values& inputs) {
  for (baleen_value_t& v : inputs)
    if (is_wide(v)) v = in_half(v);
}

void Casts::mark_strong(const Values& outputs) {
  for (const baleen_value_t v : outputs)
    if (is_wide(v)) facts_[v].strong = true;
}

void Casts::visit_view(baleen_op_t op, Values inputs, const Values& outputs) {
  const Fact fact = facts_[inputs[0]];
  if (is_wide(inputs[0]) && !fact.kept && graph_.value(inputs[0]).role == BALEEN_ROLE_PARAMETER &&
      wants_form(inputs[0]))
    inputs[0] = in_half(inputs[0]);
  graph_.amend(op, inputs);
  facts_[outputs[0]] = fact;
}

/// In 16 bits, unless a kept parameter makes it an island.
void Casts::visit_product(baleen_op_t op, Values inputs, const Values& outputs) {
  const bool island = std::any_of(inputs.begin(), inputs.end(), [&](baleen_value_t v) { return facts_[v].kept; });
  if (!island) halve(inputs);
  graph_.amend(op, inputs);
  mark_strong(outputs);
}

/// Beside 16 bits, parameters and constants have no say in the dtype: a bias takes part in 16 bits, a table as it is.
void Casts::visit_pointwise(baleen_op_t op, Values inputs, const Values& outputs) {
  const bool half = std::any_of(inputs.begin(), inputs.end(), [&](baleen_value_t v) { return is_half(v); });
  const bool strong =
      std::any_of(inputs.begin(), inputs.end(), [&](baleen_value_t v) { return is_wide(v) && facts_[v].strong; });
  const bool floats = std::all_of(outputs.begin(), outputs.end(), [&](baleen_value_t v) { return is_wide(v); });
  if (!half || strong || !floats) {
    graph_.amend(op, inputs);
    if (strong) mark_strong(outputs);
    return;
  }
  for (baleen_value_t& v : inputs)
    if (is_wide(v) && graph_.value(v).role == BALEEN_ROLE_PARAMETER && !facts_[v].kept) v = in_half(v);
  const bool wide = std::any_of(inputs.begin(), inputs.end(), [&](baleen_value_t v) { return is_wide(v); });
  if (wide)
    graph_.amend(op, inputs, std::vector<std::int64_t>(outputs.size(), options_.dtype));
  else
    graph_.amend(op, inputs);
}

/// Norms and losses take what there is and compute in fp32. Sums are fp32. Others that see 16 bits see 16 bits alone.
void Casts::visit_other(baleen_op_t op, Values inputs, const Values& outputs, bool sum) {
  const bool half = std::any_of(inputs.begin(), inputs.end(), [&](baleen_value_t v) { return is_half(v); });
  const baleen_traits_t traits = graph_.info(op).traits;
  if (sum && half && (traits & BALEEN_TRAIT_TYPED)) {
    const std::int64_t wide[] = {BALEEN_F32};
    graph_.amend(op, inputs, wide);
  } else {
    if (half && !(traits & BALEEN_TRAIT_SENSITIVE)) halve(inputs);
    graph_.amend(op, inputs);
  }
  mark_strong(outputs);
}

}  // namespace baleen::precision
