/// \file The gradient of the loss, its norm and clipping, and what the optimizer does with it.
#include <algorithm>
#include <deque>
#include <numeric>
#include <optional>

#include "baleen/optimizer.h"
#include "baleen/plugin.hpp"
#include "core/graph/abi.hpp"
#include "core/graph/autodiff.hpp"
#include "core/plan/passes.hpp"
#include "core/plugin/settings.hpp"

namespace baleen {

bool matches(const std::string& pattern, const std::string& text) {
  // Greedy with backtracking to the last star.
  std::size_t p = 0, t = 0, star = std::string::npos, mark = 0;
  while (t < text.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || (pattern[p] != '*' && pattern[p] == text[t])))
      ++p, ++t;
    else if (p < pattern.size() && pattern[p] == '*')
      star = p++, mark = t;
    else if (star != std::string::npos)
      p = star + 1, t = ++mark;
    else
      return false;
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

int group_of(const Job& job, const std::string& parameter) {
  for (std::size_t g = 0; g < job.groups.size(); ++g)
    for (const std::string& pattern : job.groups[g].patterns)
      if (matches(pattern, parameter)) return static_cast<int>(g);
  return -1;
}

Result<std::vector<ValueId>> differentiate_loss(Graph& graph, const Job& job) {
  const ValueId loss = graph.output("loss"), weight = graph.output("weight");
  if (loss == kNone || weight == kNone) return internal("the train graph lacks the output `loss` or `weight`");
  std::vector<ValueId> targets;
  for (const ParameterSpec& p : job.parameters) {
    const int group = group_of(job, p.name);
    BALEEN_TRY_ASSIGN(const ValueId value, graph.parameter(p.name, p.type));
    targets.push_back(group >= 0 && job.groups[static_cast<std::size_t>(group)].frozen ? kNone : value);
  }
  graph.context() = {Phase::backward, kNone, "loss.grad", {}};
  Expression e;  // 1 / weight, and 0 for a batch without any target
  const auto w = e.input(0);
  const auto empty = e.binary(BALEEN_X_EQ, w, e.constant(0));
  const auto inverse = e.binary(BALEEN_X_DIV, e.constant(1), w);
  const auto scale = e.select(empty, e.constant(0), inverse);
  BALEEN_TRY_ASSIGN(const ValueId seed, graph.pointwise({weight}, std::move(e), scale));

  std::vector<ValueId> wanted;
  for (ValueId t : targets)
    if (t != kNone) wanted.push_back(t);
  BALEEN_TRY_ASSIGN(const auto found, differentiate(graph, loss, seed, wanted));
  std::vector<ValueId> gradients(targets.size(), kNone);
  for (std::size_t i = 0, next = 0; i < targets.size(); ++i)
    if (targets[i] != kNone) gradients[i] = found[next++];
  return gradients;
}

namespace {

/// The update of one job by one optimizer plugin.
class Updater {
 public:
  Updater(Graph& graph, const Job& job, const Registry& plugins) : graph_(graph), job_(job), plugins_(plugins) {}
  ~Updater() {
    if (optimizer_) table_->destroy(optimizer_);
  }

  Result<UpdateResult> run(std::vector<ValueId> gradients) {
    graph_.context() = {Phase::update, kNone, "optimizer", {}};
    const std::vector<ValueId> unclipped = gradients;
    BALEEN_TRY(clip(gradients));
    BALEEN_TRY(open());
    BALEEN_TRY_ASSIGN(count_, add_state("optimizer.updates", {job_.dtype, {}, {}}, 0, "control"));
    BALEEN_TRY(make_updates(gradients));
    for (std::size_t i = 0, next = 0; i < unclipped.size(); ++i) {
      if (unclipped[i] == kNone) continue;
      BALEEN_TRY_ASSIGN(const ValueId parameter, graph_.parameter(job_.parameters[i].name, job_.parameters[i].type));
      result_.trained.push_back({parameter, unclipped[i], slot_values_[next++]});
    }
    BALEEN_TRY(call_plugin());
    Expression next;
    const auto sum = next.binary(BALEEN_X_ADD, next.input(0), next.constant(1));
    BALEEN_TRY_ASSIGN(const ValueId counted, graph_.pointwise({count_}, std::move(next), sum, "optimizer.updates"));
    BALEEN_TRY(graph_.assign(count_, counted));
    return std::move(result_);
  }

 private:
  /// Per-tensor sums of squares, added in parameter order; then the scale of arXiv 1211.5063.
  Status clip(std::vector<ValueId>& gradients) {
    std::vector<ValueId> sums;
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      const ValueId g = gradients[i];
      if (g == kNone) continue;
      BALEEN_TRY_ASSIGN(const ValueId square, graph_.binary(BALEEN_X_MUL, g, g));
      std::vector<std::int64_t> dims(graph_.value(g).rank());
      std::iota(dims.begin(), dims.end(), 0);
      BALEEN_TRY_ASSIGN(const ValueId sum,
                        graph_.append1("reduce", {square},
                                       {{"kind", std::string("sum")}, {"dims", dims}, {"keep", Attributes::ints({0})}},
                                       job_.parameters[i].name + ".norm"));
      sums.push_back(sum);
    }
    if (sums.empty()) return invalid("no parameter is trained: all are frozen, or the loss depends on none");
    BALEEN_TRY_ASSIGN(const ValueId total, add_in_order(sums));
    BALEEN_TRY_ASSIGN(const ValueId norm, graph_.unary(BALEEN_X_SQRT, total));
    graph_.set_output("gradient_norm", norm);
    if (job_.clip <= 0) return {};
    Expression e;
    const auto room =
        e.binary(BALEEN_X_DIV, e.constant(job_.clip), e.binary(BALEEN_X_ADD, e.input(0), e.constant(1e-6)));
    const auto bounded = e.binary(BALEEN_X_MIN, room, e.constant(1));
    BALEEN_TRY_ASSIGN(const ValueId scale, graph_.pointwise({norm}, std::move(e), bounded, "optimizer.clip"));
    for (ValueId& g : gradients)
      if (g != kNone) {
        BALEEN_TRY_ASSIGN(g, graph_.binary(BALEEN_X_MUL, g, scale));
      }
    return {};
  }

  /// In pieces of sixteen, so that no expression grows with the model; still strictly left to right.
  Result<ValueId> add_in_order(const std::vector<ValueId>& terms) {
    ValueId total = terms[0];
    for (std::size_t i = 1; i < terms.size(); i += 15) {
      Expression e;
      auto sum = e.input(0);
      std::vector<ValueId> inputs{total};
      for (std::size_t k = i; k < std::min(i + 15, terms.size()); ++k) {
        inputs.push_back(terms[k]);
        sum = e.binary(BALEEN_X_ADD, sum, e.input(static_cast<std::uint32_t>(inputs.size() - 1)));
      }
      BALEEN_TRY_ASSIGN(total, graph_.pointwise(std::move(inputs), std::move(e), sum, "optimizer.norm"));
    }
    return total;
  }

  Status open() {
    BALEEN_TRY_ASSIGN(descriptor_, plugins_.find("optimizer", job_.optimizer.name, job_.optimizer.where));
    BALEEN_TRY_ASSIGN(Plugin plugin, plugins_.open(descriptor_));
    plugin_.emplace(std::move(plugin));
    BALEEN_TRY_ASSIGN(table_, plugin_->table<baleen_optimizer_t>("optimizer"));
    BALEEN_TRY_ASSIGN(SettingsStorage * own, settings(-1));
    return plugin_->check(table_->create(plugin_->host(), own->get(), &optimizer_));
  }

  /// The settings of a group (-1: the optimizer's own), with a scalar per SCHEDULE option.
  Result<SettingsStorage*> settings(int group) {
    if (auto it = settings_.find(group); it != settings_.end()) return &it->second;
    const ParameterGroup* overriding = group < 0 ? nullptr : &job_.groups[static_cast<std::size_t>(group)];
    UserValues own = with_schedules(job_.optimizer.options, job_.optimizer.schedules, job_.optimizer.where);
    UserValues over;
    if (overriding) over = with_schedules(overriding->options, overriding->schedules, overriding->where);
    BALEEN_TRY_ASSIGN(SettingsStorage storage,
                      SettingsStorage::build(descriptor_, own, {job_.seed, "", job_.optimizer.where}, over));
    for (const Option& option : descriptor_.options)
      if (option.type == BALEEN_OPTION_SCHEDULE) {
        const bool group_own = overriding && over.contains(option.name);
        const std::string name = option.name + (group_own ? "/" + std::to_string(group) : "");
        const auto& schedules = group_own ? overriding->schedules : job_.optimizer.schedules;
        BALEEN_TRY_ASSIGN(const ValueId value, scalar(name, schedules, option.name, storage.find(option.name)->number));
        storage.set_value(option.name, value);
      }
    return &settings_.emplace(group, std::move(storage)).first->second;
  }

  static UserValues with_schedules(UserValues options, const std::map<std::string, Schedule>& schedules,
                                   const std::string& where) {
    for (const auto& [name, schedule] : schedules)
      if (!options.contains(name)) options[name] = UserValue{schedule(0), where};
    return options;
  }

  Result<ValueId> scalar(const std::string& name, const std::map<std::string, Schedule>& schedules,
                         const std::string& option, double constant) {
    if (std::none_of(result_.scalars.begin(), result_.scalars.end(), [&](const auto& s) { return s.name == name; })) {
      auto it = schedules.find(option);
      result_.scalars.push_back(
          {name, it != schedules.end() ? it->second : Schedule([constant](std::int64_t) { return constant; })});
    }
    return graph_.scalar(name, job_.dtype);
  }

  Result<ValueId> add_state(const std::string& name, ValueType type, double initial, const std::string& category) {
    result_.states.push_back({name, type, Role::state, category});
    result_.initial.push_back(initial);
    return graph_.state(name, type);
  }

  Status make_updates(const std::vector<ValueId>& gradients) {
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      if (gradients[i] == kNone) continue;
      const ParameterSpec& p = job_.parameters[i];
      BALEEN_TRY_ASSIGN(SettingsStorage * settings_of, settings(group_of(job_, p.name)));
      baleen_slot_t slots[BALEEN_MAX_SLOTS]{};
      std::uint32_t count = BALEEN_MAX_SLOTS;
      BALEEN_TRY(plugin_->check(table_->slots(optimizer_, settings_of->get(), slots, &count)));
      auto& values = slot_values_.emplace_back();
      for (std::uint32_t s = 0; s < count; ++s) {
        const ValueType type{p.type.dtype, slots[s].scalar ? Shape{} : p.type.shape,
                             slots[s].scalar ? std::vector<std::string>{} : p.type.axes};
        BALEEN_TRY_ASSIGN(const ValueId state,
                          add_state(p.name + "." + slots[s].name, type, slots[s].initial, "optimizer"));
        values.push_back(state);
      }
      BALEEN_TRY_ASSIGN(const ValueId parameter, graph_.parameter(p.name, p.type));
      baleen_update_t update{};
      update.size = sizeof(update);
      update.name = abi(p.name);
      update.parameter = parameter;
      update.gradient = gradients[i];
      update.count = count_;
      update.slot_count = count;
      update.slots = values.data();
      update.settings = settings_of->get();
      update.new_parameter = BALEEN_NONE;
      std::fill(std::begin(update.new_slots), std::end(update.new_slots), BALEEN_NONE);
      updates_.push_back(update);
    }
    return {};
  }

  Status call_plugin() {
    AbiGraph abi_graph(graph_, [this](const std::string& name, const ValueType& type, double initial) {
      return add_state("optimizer." + name, type, initial, "optimizer");
    });
    auto checked = [&](baleen_status_t status) -> Status {
      if (!abi_graph.status()) return abi_graph.status().error();
      return plugin_->check(status);
    };
    if (table_->begin)
      BALEEN_TRY(checked(table_->begin(optimizer_, abi_graph.table(), updates_.data(), updates_.size())));
    for (baleen_update_t& update : updates_) {
      graph_.context().name = std::string(view(update.name)) + ".update";
      BALEEN_TRY(checked(table_->update(optimizer_, abi_graph.table(), &update)));
      BALEEN_TRY(assign_results(update));
    }
    return {};
  }

  Status assign_results(const baleen_update_t& update) {
    auto assign = [&](ValueId target, ValueId value, const char* what) -> Status {
      if (value >= graph_.value_count() || graph_.value(value).shape != graph_.value(target).shape)
        return invalid("optimizer `" + descriptor_.name + "` gave no new " + what + " of the right shape for `" +
                       std::string(view(update.name)) + "`");
      graph_.value(value).role = Role::updated;
      return graph_.assign(target, value);
    };
    BALEEN_TRY(assign(update.parameter, update.new_parameter, "parameter"));
    for (std::uint32_t s = 0; s < update.slot_count; ++s)
      BALEEN_TRY(assign(update.slots[s], update.new_slots[s], "slot"));
    return {};
  }

  Graph& graph_;
  const Job& job_;
  const Registry& plugins_;
  Descriptor descriptor_;
  std::optional<Plugin> plugin_;
  const baleen_optimizer_t* table_ = nullptr;
  void* optimizer_ = nullptr;
  ValueId count_ = kNone;
  std::map<int, SettingsStorage> settings_;
  std::vector<baleen_update_t> updates_;
  std::deque<std::vector<ValueId>> slot_values_;
  UpdateResult result_;
};

}  // namespace

Result<UpdateResult> append_update(Graph& graph, const Job& job, const std::vector<ValueId>& gradients,
                                   const Registry& plugins) {
  return Updater(graph, job, plugins).run(gradients);
}

}  // namespace baleen
