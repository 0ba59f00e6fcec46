/// \file Clipping, what the optimizer does with the gradients, and whether it counts.
#include <algorithm>
#include <deque>
#include <optional>
#include <set>

#include "baleen/dtype.hpp"
#include "baleen/optimizer.h"
#include "baleen/pattern.hpp"
#include "baleen/plugin.hpp"
#include "compiler/graph/abi.hpp"
#include "compiler/plan/passes.hpp"
#include "compiler/plan/slots.hpp"
#include "core/input/nearest.hpp"
#include "core/plugin/settings.hpp"

namespace baleen {

int group_of(const Job& job, const std::string& parameter) {
  for (std::size_t g = 0; g < job.groups.size(); ++g)
    for (const std::string& pattern : job.groups[g].patterns)
      if (matches(pattern, parameter)) return static_cast<int>(g);
  return -1;
}

namespace {

/// What a pattern without parameters may have meant: their names begin with paths of layers.
std::string hint(const std::string& pattern, const std::vector<std::string>& names) {
  const auto first_word = [](const std::string& name) { return name.substr(0, name.find_first_of(".*?")); };
  std::vector<std::string> known;
  for (const std::string& name : names)
    if (known.empty() || known.back() != first_word(name)) known.push_back(first_word(name));
  const std::string meant = first_word(pattern);
  if (const auto near = nearest(meant, known); near && *near != meant)
    return "; did you mean `" + *near + pattern.substr(meant.size()) + "`?";
  return names.empty() ? "" : "; the names are like `" + names.front() + "`";
}

/// The update of one job by one optimizer plugin.
class Updater {
 public:
  Updater(Graph& graph, const Job& job, LossGradients gradients, const Registry& plugins)
      : graph_(graph), job_(job), gradients_(std::move(gradients)), plugins_(plugins) {
    gradients_.is_late |= job.is_late;
    for (NewState& state : gradients_.states) {
      result_.states.push_back(std::move(state.spec));
      result_.initial.push_back(state.initial);
    }
  }
  ~Updater() {
    if (optimizer_) table_->destroy(optimizer_);
  }

  Result<UpdateResult> run() {
    BALEEN_TRY(check_groups());
    if (job_.takes_gradients) BALEEN_TRY(take_gradients());
    BALEEN_TRY(append_norm(graph_, job_, gradients_));
    graph_.context() = {Phase::update, kNone, "optimizer", {}};
    if (gradients_.condition != kNone) graph_.set_output("applied", gradients_.condition);
    std::vector<ValueId> values;
    for (const LossGradients::One& one : gradients_.all) values.push_back(one.value);
    BALEEN_TRY_ASSIGN(ValueId clipping, factor());
    if (gradients_.is_late) BALEEN_TRY(take_late(values, clipping));
    BALEEN_TRY(clip(values, clipping));
    BALEEN_TRY(open());
    BALEEN_TRY_ASSIGN(count_, add_state(kUpdatesState, {job_.dtype, {}, {}}, 0, "control"));
    BALEEN_TRY(make_updates(values));
    BALEEN_TRY(call_plugin());
    for (const auto& [kept, gradient] : late_gradients_)
      if (kept != kNone) BALEEN_TRY(graph_.assign(kept, gradient));
    if (job_.keep_gradients) BALEEN_TRY(keep_gradients());
    Expression next;
    const auto sum = next.binary(BALEEN_X_ADD, next.input(0), next.constant(1));
    BALEEN_TRY_ASSIGN(const ValueId counted, graph_.pointwise({count_}, next, sum, "optimizer.updates"));
    BALEEN_TRY(assign(count_, counted));
    result_.stops = std::move(gradients_.stops);
    result_.approximated = std::move(gradients_.approximated);
    return std::move(result_);
  }

 private:
  /// A group that changes nothing is a slip. A pattern that begins with `*` is for whatever ends so, if anything does.
  Status check_groups() const {
    std::vector<std::string> names;
    std::set<int> used;
    for (const ParameterSpec& p : job_.parameters) {
      names.push_back(p.name);
      used.insert(group_of(job_, p.name));
    }
    for (std::size_t g = 0; g < job_.groups.size(); ++g) {
      const ParameterGroup& group = job_.groups[g];
      const std::string what = "a group of optimizer `" + job_.optimizer.name + "`: ";
      std::string patterns;
      for (const std::string& pattern : group.patterns) {
        patterns += (patterns.empty() ? "`" : ", `") + pattern + "`";
        const auto fits = [&](const std::string& name) { return matches(pattern, name); };
        if (!pattern.starts_with('*') && std::none_of(names.begin(), names.end(), fits))
          return invalid(what + "no parameter matches `" + pattern + "`" + hint(pattern, names), group.where);
      }
      if (!used.contains(static_cast<int>(g)))
        return invalid(
            what + patterns + " match no parameter that is left to it, so it changes nothing; take the group away",
            group.where);
    }
    return {};
  }

  /// The scale of arXiv 1211.5063; kNone: nothing is clipped.
  Result<ValueId> factor() {
    if (job_.clip_grad_norm <= 0) return kNone;
    Expression e;
    const auto room =
        e.binary(BALEEN_X_DIV, e.constant(job_.clip_grad_norm), e.binary(BALEEN_X_ADD, e.input(0), e.constant(1e-6)));
    const auto bounded = e.binary(BALEEN_X_MIN, room, e.constant(1));
    return graph_.pointwise({gradients_.norm}, e, bounded, "optimizer.clip");
  }

  Status clip(std::vector<ValueId>& values, ValueId factor) {
    if (factor == kNone) return {};
    for (ValueId& g : values)
      if (g != kNone) {
        BALEEN_TRY_ASSIGN(g, graph_.binary(BALEEN_X_MUL, g, factor));
      }
    return {};
  }

  /// What clipping and the optimizer read becomes what the step before kept, and this step's is kept: gradients when
  /// the update has been written down, since where one of the two has to be a copy it is to be the gradient. No
  /// gradient was kept before the first step, so that one does not count.
  Status take_late(std::vector<ValueId>& values, ValueId& clipping) {
    const auto number = [&](const char* name, double initial, ValueId& value) -> Status {
      BALEEN_TRY_ASSIGN(const ValueId kept, add_state(name, {graph_.value(value).dtype, {}, {}}, initial, "control"));
      BALEEN_TRY(graph_.assign(kept, value));
      value = kept;
      return {};
    };
    if (clipping != kNone) BALEEN_TRY(number(kLateClipState, 1, clipping));
    if (gradients_.condition == kNone) {
      BALEEN_TRY_ASSIGN(gradients_.condition, graph_.constant(1, job_.dtype));
    }
    BALEEN_TRY(number(kLateCountsState, 0, gradients_.condition));
    late_gradients_.assign(values.size(), {kNone, kNone});
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i] == kNone) continue;
      const ParameterSpec& p = job_.parameters[i];
      const ValueType type{p.type.dtype, p.type.shape, p.type.axes};
      BALEEN_TRY_ASSIGN(const ValueId kept, add_state(p.name + kLateGradientSuffix, type, 0, "optimizer"));
      late_gradients_[i] = {kept, values[i]};
      values[i] = kept;
    }
    return {};
  }

  Status open() {
    BALEEN_TRY_ASSIGN(descriptor_, plugins_.find("optimizer", job_.optimizer.name, job_.optimizer.where));
    BALEEN_TRY_ASSIGN(Plugin plugin, plugins_.open(descriptor_));
    plugin_.emplace(std::move(plugin));
    BALEEN_TRY_ASSIGN(table_, plugin_->table<baleen_optimizer_t>("optimizer"));
    BALEEN_TRY_ASSIGN(SettingsStorage * own, settings(-1));
    const Status made = plugin_->check(table_->create(plugin_->host(), own->get(), &optimizer_));
    return made ? made : placed(made.error());
  }

  /// What the optimizer says, which knows no place, with its own in the script.
  Error placed(const Error& error) const {
    return {error.code, error.message, error.where.empty() ? job_.optimizer.where : error.where};
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
        BALEEN_TRY_ASSIGN(const ValueId value, scalar(name, schedules, option, storage.find(option.name)->number,
                                                      group_own ? overriding->where : job_.optimizer.where));
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

  /// A late update is that of the step before.
  Schedule of_update(const Schedule& schedule) const {
    if (!gradients_.is_late) return schedule;
    return [schedule](std::int64_t step) { return schedule(std::max<std::int64_t>(step - 1, 0)); };
  }

  Result<ValueId> scalar(const std::string& name, const std::map<std::string, Schedule>& schedules,
                         const Option& option, double constant, const std::string& where) {
    if (std::none_of(result_.scalars.begin(), result_.scalars.end(), [&](const auto& s) { return s.name == name; })) {
      auto it = schedules.find(option.name);
      Schedule schedule =
          it != schedules.end() ? of_update(it->second) : Schedule([constant](std::int64_t) { return constant; });
      result_.scalars.push_back({name, std::move(schedule), option, title_of(descriptor_), where});
    }
    return graph_.scalar(name, job_.dtype);
  }

  Result<ValueId> add_state(const std::string& name, const ValueType& type, double initial,
                            const std::string& category) {
    const std::string own = job_.states_prefix + name;
    result_.states.push_back({own, type, Role::state, category});
    result_.initial.push_back(initial);
    return graph_.state(own, type);
  }

  /// Clipping and the optimizer read what is given; the job's own are kept.
  Status take_gradients() {
    own_gradients_ = gradients_.all;
    for (std::size_t i = 0; i < gradients_.all.size(); ++i) {
      const ParameterSpec& p = job_.parameters[i];
      if (gradients_.all[i].gradient == kNone) continue;
      const ValueType type{p.type.dtype, p.type.shape, p.type.axes};
      BALEEN_TRY_ASSIGN(gradients_.all[i].value, add_state(kGivenGradientPrefix + p.name, type, 0, "control"));
    }
    return {};
  }

  /// Each gradient as it is before clipping, whether or not the step counts. Behind all other ops, so that what is
  /// decided about those is what is decided without.
  Status keep_gradients() {
    const auto& kept_ones = own_gradients_.empty() ? gradients_.all : own_gradients_;
    for (std::size_t i = 0; i < gradients_.all.size(); ++i) {
      const ParameterSpec& p = job_.parameters[i];
      if (gradients_.all[i].gradient == kNone) continue;
      const std::string name = kGradientPrefix + p.name;
      BALEEN_TRY_ASSIGN(const ValueId kept, add_state(name, {p.type.dtype, p.type.shape, p.type.axes}, 0, "control"));
      Expression e;
      const auto same = e.input(0);
      BALEEN_TRY_ASSIGN(const ValueId next, graph_.pointwise({kept_ones[i].value}, e, same, name));
      graph_.value(next).role = Role::updated;
      BALEEN_TRY(graph_.assign(kept, next));
    }
    return {};
  }

  Status make_updates(const std::vector<ValueId>& gradients) {
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      if (gradients[i] == kNone) continue;
      const ParameterSpec& p = job_.parameters[i];
      BALEEN_TRY_ASSIGN(SettingsStorage * settings_of, settings(group_of(job_, p.name)));
      const auto slots = slots_of({*plugin_, *table_, optimizer_}, p, settings_of->get());
      if (!slots) return placed(slots.error());
      BALEEN_TRY_ASSIGN(const ValueId parameter, graph_.parameter(p.name, p.type));
      auto& values = slot_values_.emplace_back();
      TrainedParameter trained{parameter, gradients_.all[i].gradient, {}};
      for (const SlotSpec& slot : *slots) {
        BALEEN_TRY_ASSIGN(const ValueId state,
                          add_state(p.name + "." + slot.name, slot.type, slot.initial, "optimizer"));
        values.push_back(state);
        if (!slot.follows.empty()) trained.follows[state] = slot.follows;
      }
      trained.states = values;
      if (gradients_.is_late) trained.states.push_back(late_gradients_[i].first);
      result_.trained.push_back(std::move(trained));
      baleen_update_t update{};
      update.size = sizeof(update);
      update.name = abi(p.name);
      update.parameter = parameter;
      update.gradient = gradients[i];
      update.count = count_;
      update.slot_count = static_cast<std::uint32_t>(values.size());
      update.slots = values.data();
      update.settings = settings_of->get();
      update.new_parameter = BALEEN_NONE;
      std::fill(std::begin(update.new_slots), std::end(update.new_slots), BALEEN_NONE);
      updates_.push_back(update);
    }
    return {};
  }

  Status call_plugin() {
    first_value_ = static_cast<ValueId>(graph_.value_count());
    AbiGraph abi_graph(graph_, [this](const std::string& name, const ValueType& type, double initial) {
      auto state = add_state("optimizer." + name, type, initial, "optimizer");
      if (state) own_states_.insert(*state);
      return state;
    });
    auto checked = [&](auto&& call) -> Status {
      const auto first = static_cast<OpId>(graph_.op_count());
      const baleen_status_t status = call();
      if (const Status& asked = abi_graph.status(); !asked)
        return Error{asked.error().code, "optimizer `" + descriptor_.name + "`: " + asked.error().message,
                     asked.error().where};
      if (const Status taken = plugin_->check(status); !taken) return placed(taken.error());
      return guard_assigns(first);
    };
    if (table_->begin)
      BALEEN_TRY(
          checked([&] { return table_->begin(optimizer_, abi_graph.table(), updates_.data(), updates_.size()); }));
    for (baleen_update_t& update : updates_) {
      graph_.context().name = std::string(view(update.name)) + ".update";
      BALEEN_TRY(checked([&] { return table_->update(optimizer_, abi_graph.table(), &update); }));
      BALEEN_TRY(assign_results(update));
    }
    return {};
  }

  /// What the plugin assigned itself counts where the step counts.
  Status guard_assigns(OpId first) {
    const std::size_t end = graph_.op_count();  // guarding appends
    for (auto id = first; id < end; ++id) {
      const Op& op = graph_.op(id);
      if (!op.live || op.kind->name != "assign") continue;
      const ValueId target = op.inputs[0], value = op.inputs[1];
      if (!own_states_.contains(target))
        return invalid("optimizer `" + descriptor_.name + "` assigns `" + graph_.value(target).name +
                       "`, which is no state that it has added; give new parameters and slots back from `update`");
      if (gradients_.condition == kNone) continue;
      graph_.erase(id);
      BALEEN_TRY(assign(target, value));
    }
    return {};
  }

  /// The new value where the step counts, else the old one.
  Status assign(ValueId target, ValueId value) {
    if (gradients_.condition == kNone) return graph_.assign(target, value);
    Expression e;
    const auto chosen = e.select(e.input(0), e.input(1), e.input(2));
    BALEEN_TRY_ASSIGN(const ValueId kept, graph_.pointwise({gradients_.condition, value, target}, e, chosen));
    graph_.value(kept).role = graph_.value(value).role;
    return graph_.assign(target, kept);
  }

  Status assign_results(const baleen_update_t& update) {
    BALEEN_TRY(assign_result(update, update.parameter, update.new_parameter));
    for (std::uint32_t s = 0; s < update.slot_count; ++s)
      BALEEN_TRY(assign_result(update, update.slots[s], update.new_slots[s]));
    return {};
  }

  /// A value that was there before the plugin's ops keeps its role, so a copy of it is assigned.
  Status assign_result(const baleen_update_t& update, ValueId target, ValueId value) {
    const std::string which = "optimizer `" + descriptor_.name + "`: the new value of `" + graph_.value(target).name +
                              "`, of the parameter `" + std::string(view(update.name)) + "`, ";
    if (value >= graph_.value_count()) return invalid(which + "was not given");
    const Value &old = graph_.value(target), &given = graph_.value(value);
    if (given.shape != old.shape || given.dtype != old.dtype)
      return invalid(which + "is " + std::string(dtype_name(given.dtype)) + to_string(given.shape) + "; it has to be " +
                     std::string(dtype_name(old.dtype)) + to_string(old.shape));
    if (value == target) return {};
    if (value < first_value_ || given.role == Role::state) {
      Expression e;
      const auto same = e.input(0);
      BALEEN_TRY_ASSIGN(value, graph_.pointwise({value}, e, same));
    }
    graph_.value(value).role = Role::updated;
    return assign(target, value);
  }

  Graph& graph_;
  const Job& job_;
  LossGradients gradients_;
  std::vector<LossGradients::One> own_gradients_;            ///< where others are given in their place
  std::vector<std::pair<ValueId, ValueId>> late_gradients_;  ///< those of the step before, and this one's
  const Registry& plugins_;
  Descriptor descriptor_;
  std::optional<Plugin> plugin_;
  const baleen_optimizer_t* table_ = nullptr;
  void* optimizer_ = nullptr;
  ValueId count_ = kNone;
  std::map<int, SettingsStorage> settings_;
  std::vector<baleen_update_t> updates_;
  std::deque<std::vector<ValueId>> slot_values_;
  ValueId first_value_ = 0;       ///< of what the plugin appends
  std::set<ValueId> own_states_;  ///< that the plugin has added
  UpdateResult result_;
};

}  // namespace

Result<UpdateResult> append_update(Graph& graph, const Job& job, LossGradients gradients, const Registry& plugins) {
  return Updater(graph, job, std::move(gradients), plugins).run();
}

}  // namespace baleen
