/// \file Multiplies what strategies say of each value over the axes of the mesh, and adds up values.
#include "frontend/engine/closed_forms.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include "baleen/dtype.hpp"
#include "compiler/layout/piece.hpp"
#include "compiler/placement/passes.hpp"

namespace baleen::app {
namespace {

/// How much of a kind's bytes may be of values that no strategy speaks of (scalars, small sums inside regions); these
/// count as planned.
constexpr double kUnspoken = 0.005;

/// Of an axis that a strategy has split: `tensor` of `tensor.row`.
std::string base_name(const std::string& axes) { return axes.substr(0, axes.find_first_of(".+")); }

class Forms {
 public:
  Forms(const Plan& plan, const Coordinates& at) : plan_(plan), step_(*plan.find(kTrainGraph)), at_(at) {
    at_.resize(graph().mesh().axes.size(), 0);  // 0 along `micro`
    for (std::size_t axis = 0; axis < plan.mesh.axes.size(); ++axis)
      if (plan.mesh.axes[axis].size > 1) axes_.push_back(static_cast<int>(axis));
    for (const ClosedForm& form : plan.closed_forms) {
      if (form.what == ClosedForm::What::sent) {
        for (const int axis : form.axes) sent_along_.emplace(form.value, axis);
        continue;
      }
      Shares& shares = (form.what == ClosedForm::What::held ? held_ : left_)[form.value];
      const int axis = form.axes.empty() ? kNoAxis : form.axes.front();
      shares.try_emplace(axis, 1).first->second *= form.times;
      if (form.what == ClosedForm::What::held && !form.formula.empty()) texts_[form.value].insert(form.formula);
      if (const Value& value = graph().value(form.value); value.role == Role::activation)
        by_type_.try_emplace(type_of(value), form.value);
    }
  }

  std::vector<ClosedFormCost> run(const PersistentLayout& persistent, const PlannedBytes& planned) const {
    std::vector<ClosedFormCost> costs;
    const auto add = [&](std::optional<ClosedFormCost> cost) {
      if (cost && (cost->planned > 0 || cost->formula > 0)) costs.push_back(*std::move(cost));
    };
    add(stored("parameters", persistent));
    // With one micro-batch they are made and used up at different times.
    if (step_.micro_batches > 1) add(sum("copies", copies(), static_cast<double>(planned.copies)));
    if (step_.micro_batches > 1) add(sum("gradients", gradients(), static_cast<double>(planned.held_gradients)));
    add(stored("optimizer", persistent));
    if (step_.pipelines.empty()) add(activations());
    for (const std::string& base : sent_bases()) add(sent(base, planned.traffic));
    return costs;
  }

 private:
  static constexpr int kNoAxis = -1;
  using Shares = std::map<int, double>;  ///< by axis

  const Graph& graph() const { return step_.graph; }

  static double whole_bytes(const Value& value) {
    return static_cast<double>(element_count(value.shape)) * static_cast<double>(dtype_size(value.dtype));
  }
  double local_bytes(const Value& value) const {
    if (value.layout.empty()) return whole_bytes(value);
    return static_cast<double>(piece_of(value.shape, value.layout, graph().mesh(), at_).elements()) *
           static_cast<double>(dtype_size(value.dtype));
  }

  /// By how many bytes this rank's piece of a value differs from an even one. Layouts that hold the value on some ranks
  /// alone have no even pieces.
  double uneven_bytes(const Value& value) const {
    double even = whole_bytes(value);
    for (std::size_t axis = 0; axis < value.layout.size(); ++axis) {
      if (value.layout[axis].is_at()) return 0;
      if (value.layout[axis].cut()) even /= static_cast<double>(graph().mesh().axes[axis].size);
    }
    return std::abs(local_bytes(value) - even);
  }

  using Type = std::pair<Shape, std::vector<std::string>>;
  static Type type_of(const Value& value) { return {value.shape, value.axes}; }

  /// The share that strategies say a rank has along all axes but some; nothing where they do not speak of each.
  std::optional<double> share(const Shares& shares, const std::vector<int>& but = {}) const {
    double product = 1;
    if (const auto everywhere = shares.find(kNoAxis); everywhere != shares.end() && but.empty())
      product *= everywhere->second;
    for (const int axis : axes_) {
      if (std::ranges::find(but, axis) != but.end()) continue;
      const auto found = shares.find(axis);
      if (found == shares.end()) return std::nullopt;
      product *= found->second;
    }
    return product;
  }
  std::optional<double> held_share(ValueId v) const {
    const auto found = held_.find(v);
    return found == held_.end() ? std::nullopt : share(found->second);
  }

  struct Item {
    double planned = 0, whole = 0;
    ValueId spoken = kNone;  ///< of which strategies speak
    double uneven = 0;
  };

  Item of_value(ValueId v) const {
    const Value& value = graph().value(v);
    return {0, whole_bytes(value), v, uneven_bytes(value)};
  }

  /// `planned` is the sum of the items where it is not given.
  std::optional<ClosedFormCost> sum(const std::string& of, const std::vector<Item>& items,
                                    std::optional<double> planned = {}) const {
    ClosedFormCost cost{of, 0, 0, {}};
    double unspoken = 0, all = 0;
    std::set<std::string> texts;
    for (const Item& item : items) {
      cost.planned += item.planned;
      const auto share = held_share(item.spoken);
      cost.formula += share ? item.whole * *share : item.planned;
      cost.uneven += item.uneven;
      all += item.whole;
      if (!share) unspoken += item.whole;
      if (const auto found = texts_.find(item.spoken); share && found != texts_.end())
        texts.insert(found->second.begin(), found->second.end());
    }
    if (items.empty() || unspoken > kUnspoken * all) return std::nullopt;
    if (planned) cost.planned = *planned;
    cost.formulas.assign(texts.begin(), texts.end());
    return cost;
  }

  std::optional<ClosedFormCost> stored(const std::string& category, const PersistentLayout& persistent) const {
    std::map<std::string, ValueId> sources;
    for (const OpId id : graph().ops())
      for (const ValueId v : graph().op(id).outputs)
        if (const Value& value = graph().value(v); graph().op(id).inputs.empty() && !value.name.empty())
          sources.try_emplace(value.name, v);
    std::vector<Item> items;
    for (const PersistentBuffer& buffer : persistent.buffers) {
      if (buffer.spec.category != category) continue;
      const auto found = sources.find(buffer.spec.name);
      const double whole = static_cast<double>(element_count(buffer.spec.type.shape)) *
                           static_cast<double>(dtype_size(buffer.spec.type.dtype));
      const ValueId source = found == sources.end() ? kNone : found->second;
      items.push_back({static_cast<double>(buffer.bytes), whole, source,
                       source == kNone ? 0 : uneven_bytes(graph().value(source))});
    }
    return sum(category, items);
  }

  std::vector<Item> copies() const {
    std::vector<Item> items;
    for (const OpId id : graph().ops())
      if (const Op& op = graph().op(id); is_compute_copy(op)) items.push_back(of_value(op.outputs[0]));
    return items;
  }

  std::vector<Item> gradients() const {
    std::vector<Item> items;
    for (const auto& [v, shares] : held_)
      if (graph().value(v).role == Role::gradient) items.push_back(of_value(v));
    return items;
  }

  /// The value whose bytes a view shows.
  ValueId root(ValueId v) const {
    for (const Op* op = graph().producer(v); op->kind->has(kView) && op->inputs.size() == 1; op = graph().producer(v))
      v = op->inputs[0];
    return v;
  }

  /// What strategies speak of where `v` is a copy of it in another layout, or its result was fused with others: then
  /// one of the forward pass that has its shape and its logical axes.
  ValueId spoken_of(ValueId v) const {
    while (!held_.contains(v)) {
      const Op& op = *graph().producer(v);
      const bool shows = op.attributes.has("from") || op.kind->has(kView);
      if (!shows || op.inputs.size() != 1) break;
      v = op.inputs[0];
    }
    if (held_.contains(v)) return v;
    const auto alike = by_type_.find(type_of(graph().value(v)));
    return alike == by_type_.end() ? v : alike->second;
  }

  /// Or a copy of one in another layout.
  bool is_activation(ValueId v) const {
    while (graph().value(v).role == Role::copy && graph().producer(v)->attributes.has("from"))
      v = root(graph().producer(v)->inputs[0]);
    return graph().value(v).role == Role::activation;
  }

  std::optional<ClosedFormCost> activations() const {
    std::map<OpId, Phase> phases;
    for (const Section& section : step_.sections)
      for (const OpId id : section.ops) phases[id] = section.phase;
    std::set<ValueId> kept;
    for (const auto& [id, phase] : phases) {
      if (phase != Phase::backward) continue;
      for (const ValueId v : graph().op(id).inputs) {
        const ValueId own = root(v);
        const auto made = phases.find(graph().value(own).producer);
        if (made != phases.end() && made->second == Phase::forward && is_activation(own)) kept.insert(own);
      }
    }
    const int micro = graph().mesh().find(kMicroAxis);
    std::vector<Item> items;
    for (const ValueId v : kept) {
      const Value& value = graph().value(v);
      const bool is_cut = micro >= 0 && !value.layout.empty() && value.layout[static_cast<std::size_t>(micro)].cut();
      const double turns = is_cut ? static_cast<double>(step_.micro_batches) : 1;
      items.push_back({local_bytes(value), whole_bytes(value) / turns, spoken_of(v), uneven_bytes(value)});
    }
    return sum("activations", items);
  }

  std::vector<std::string> sent_bases() const {
    std::vector<std::string> bases;
    for (const MeshAxis& axis : plan_.mesh.axes)
      if (const std::string base = base_name(axis.name); std::ranges::find(bases, base) == bases.end())
        bases.push_back(base);
    return bases;
  }

  std::optional<ClosedFormCost> sent(const std::string& base, const std::vector<Traffic>& traffic) const {
    ClosedFormCost cost{"sent along " + base, 0, 0, {}};
    std::set<std::string> texts;
    bool any = false;
    for (const ClosedForm& form : plan_.closed_forms) {
      if (form.what != ClosedForm::What::sent || form.axes.empty()) continue;
      if (base_name(plan_.mesh.axes[static_cast<std::size_t>(form.axes.front())].name) != base) continue;
      any = true;
      const auto left = left_to_send(form);
      if (!left) return std::nullopt;
      const Value& value = graph().value(form.value);
      const double bytes = whole_bytes(value) * *left * form.times;
      cost.formula += bytes;
      if (const double local = local_bytes(value); local > 0) cost.uneven += bytes * uneven_bytes(value) / local;
      if (!form.formula.empty()) texts.insert(form.formula);
    }
    if (!any) return std::nullopt;
    for (const Traffic& one : traffic)
      if (base_name(one.axes) == base) cost.planned += static_cast<double>(one.bytes);
    cost.formulas.assign(texts.begin(), texts.end());
    return cost;
  }

  /// What other axes leave of the value. Nothing where it is sent along one of these too and each leaves a part to the
  /// other: which comes first is not said.
  std::optional<double> left_to_send(const ClosedForm& form) const {
    const auto held = held_.find(form.value);
    Shares shares = held == held_.end() ? Shares{} : held->second;
    bool own = false, others = false;
    if (const auto left = left_.find(form.value); left != left_.end())
      for (const auto& [axis, times] : left->second) {
        shares[axis] = times;
        if (times == 1 || !sent_along_.contains({form.value, axis})) continue;
        (std::ranges::find(form.axes, axis) == form.axes.end() ? others : own) = true;
      }
    return own && others ? std::nullopt : share(shares, form.axes);
  }

  const Plan& plan_;
  const ScheduledGraph& step_;
  Coordinates at_;
  std::vector<int> axes_;  ///< of several ranks
  std::map<ValueId, Shares> held_, left_;
  std::set<std::pair<ValueId, int>> sent_along_;
  std::map<ValueId, std::set<std::string>> texts_;
  std::map<Type, ValueId> by_type_;  ///< forward values of which strategies speak
};

}  // namespace

std::vector<ClosedFormCost> closed_form_costs(const Plan& plan, const PersistentLayout& persistent,
                                              const Coordinates& at, const PlannedBytes& planned) {
  if (plan.closed_forms.empty() || !plan.find(kTrainGraph)) return {};
  return Forms(plan, at).run(persistent, planned);
}

}  // namespace baleen::app
