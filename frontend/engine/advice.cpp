/// \file Searches the neighbourhood of a plan: one change at a time.
#include "frontend/engine/advice.hpp"

#include <time.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace baleen::app {
namespace {

constexpr double kPatience = 30;  // seconds of the processor, so that what else it does changes no answer
constexpr std::size_t kMostChanges = 3;
constexpr double kMostRange = 3;  // of a whole number whose values are tried: from 1 to 4
constexpr const char* kAxis = "axis";

const Option* find_option(const Descriptor& plugin, std::string_view name) {
  const auto found = std::ranges::find(plugin.options, name, &Option::name);
  return found == plugin.options.end() ? nullptr : &*found;
}

/// The values of an option that are worth a plan; none where they are many, or say nothing of memory.
std::vector<UserValue> few_values(const Option& option) {
  std::vector<UserValue> values;
  if (option.many() || option.name == kAxis) return values;
  if (option.type == BALEEN_OPTION_STRING)
    for (const std::string& choice : option.choices) values.push_back({choice, {}});
  if (option.type == BALEEN_OPTION_INT && option.has_range() && option.maximum - option.minimum <= kMostRange)
    for (auto i = static_cast<std::int64_t>(option.minimum); i <= static_cast<std::int64_t>(option.maximum); ++i)
      values.push_back({i, {}});
  return values;
}

/// Likewise, and both ways of a switch.
std::vector<UserValue> with_switch(const Option& option) {
  if (option.type == BALEEN_OPTION_BOOL && !option.many()) return {{true, {}}, {false, {}}};
  return few_values(option);
}

std::string axis_of(const MemberSpec& spec, const Descriptor& plugin) {
  const Option* option = find_option(plugin, kAxis);
  if (!option) return {};
  const auto given = spec.options.find(kAxis);
  if (given == spec.options.end()) return option->default_value.empty() ? plugin.name : option->default_value;
  const auto* text = std::get_if<std::string>(&given->second.data);
  return text ? *text : std::string();
}

std::string text_of(const MemberSpec& spec) {
  std::string text = "strategy `" + spec.name + "`", axis;
  const char* before = " with ";
  for (const auto& [name, value] : spec.options) {
    if (name == kAxis) {
      axis = std::get<std::string>(value.data);
      continue;
    }
    text += before + ("`" + name + "` = " + value.text());
    before = ", ";
  }
  return text + (axis.empty() ? "" : " along `" + axis + "`");
}

/// The member with nothing but what it must be told, once for each value of that: none if there are too many.
std::vector<MemberSpec> plain_members(const Descriptor& plugin, const std::string& axis) {
  std::vector<MemberSpec> members = {{plugin.name, {}, {}, {}}};
  if (!axis.empty()) members.front().options.emplace(kAxis, UserValue{axis, {}});
  for (const Option& option : plugin.options) {
    if (!option.required()) continue;
    std::vector<MemberSpec> more;
    for (const MemberSpec& member : members)
      for (const UserValue& value : few_values(option)) {
        more.push_back(member);
        more.back().options.insert_or_assign(option.name, value);
      }
    members = std::move(more);
  }
  return members;
}

/// Those, and each with one of its switches the other way.
std::vector<MemberSpec> with_switches(const std::vector<MemberSpec>& members, const Descriptor& plugin) {
  std::vector<MemberSpec> all = members;
  for (const MemberSpec& member : members)
    for (const Option& option : plugin.options) {
      if (option.type != BALEEN_OPTION_BOOL || option.many()) continue;
      all.push_back(member);
      all.back().options.insert_or_assign(option.name, UserValue{option.default_value != "true", {}});
    }
  return all;
}

std::string key_of(const Choices& choices) {
  std::string key = std::to_string(choices.gradient_accumulation_steps);
  for (const MemberSpec& spec : choices.strategies) key += "; " + text_of(spec);
  return key;
}

class Neighbourhood {
 public:
  Neighbourhood(const Alternative& from, std::int64_t batch, const Registry& registry)
      : from_(from), batch_(batch), registry_(registry) {}

  /// One of each way in turn: where there is no time for all of them, none is left out because of its place.
  std::vector<Alternative> all() {
    std::vector<std::vector<Alternative>> ways;
    const auto take = [&](auto&& add) {
      add();
      ways.push_back(std::exchange(found_, {}));
    };
    take([&] {
      for (const std::int64_t times : {2, 4}) add_micro_batches(times);
    });
    take([&] { add_options(); });
    take([&] { add_others(); });
    take([&] { add_replacements(); });
    for (std::size_t i = 0; std::ranges::any_of(ways, [&](const auto& way) { return i < way.size(); }); ++i)
      for (std::vector<Alternative>& way : ways)
        if (i < way.size()) found_.push_back(std::move(way[i]));
    return std::move(found_);
  }

 private:
  Alternative& add(std::string change) {
    found_.push_back(from_);
    found_.back().changes.push_back(std::move(change));
    return found_.back();
  }

  bool has(const std::string& name) const {
    return std::ranges::any_of(from_.choices.strategies, [&](const MemberSpec& spec) { return spec.name == name; });
  }

  void add_replacements() {
    for (std::size_t i = 0; i < from_.choices.strategies.size(); ++i) {
      const MemberSpec& old = from_.choices.strategies[i];
      const Result<Descriptor> plugin = registry_.find("strategy", old.name);
      const std::string axis = plugin ? axis_of(old, *plugin) : "";
      if (axis.empty()) continue;
      for (const Descriptor& other : registry_.descriptors())
        if (other.kind == "strategy" && !has(other.name) && find_option(other, kAxis))
          for (MemberSpec& spec : plain_members(other, axis))
            add(text_of(spec) + " in place of `" + old.name + "`").choices.strategies[i] = std::move(spec);
    }
  }

  void add_options() {
    for (std::size_t i = 0; i < from_.choices.strategies.size(); ++i) {
      const MemberSpec& old = from_.choices.strategies[i];
      const Result<Descriptor> plugin = registry_.find("strategy", old.name);
      if (!plugin) continue;
      for (const Option& option : plugin->options)
        for (UserValue& value : find_option(*plugin, kAxis) ? few_values(option) : with_switch(option)) {
          const auto given = old.options.find(option.name);
          const std::string is = given != old.options.end()            ? given->second.text()
                                 : option.type == BALEEN_OPTION_STRING ? "\"" + option.default_value + "\""
                                                                       : option.default_value;
          if (value.text() == is) continue;
          add("`" + option.name + "` = " + value.text() + " of strategy `" + old.name + "`")
              .choices.strategies[i]
              .options.insert_or_assign(option.name, std::move(value));
        }
    }
  }

  void add_others() {
    for (const Descriptor& other : registry_.descriptors())
      if (other.kind == "strategy" && !has(other.name) && !find_option(other, kAxis))
        for (MemberSpec& spec : with_switches(plain_members(other, ""), other))
          add(text_of(spec) + " beside the others").choices.strategies.push_back(std::move(spec));
  }

  void add_micro_batches(std::int64_t times) {
    const std::int64_t steps = from_.choices.gradient_accumulation_steps * times;
    if (steps > batch_ || batch_ % steps != 0) return;
    add("`gradient_accumulation_steps` = " + std::to_string(steps)).choices.gradient_accumulation_steps = steps;
  }

  const Alternative& from_;
  const std::int64_t batch_;
  const Registry& registry_;
  std::vector<Alternative> found_;
};

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// `base`: the numbers of the plan that does not fit.
Advice::Tried measured(const Alternative& alternative, const PlanReport& report, const std::string& base) {
  Advice::Tried tried{.changes = alternative.changes, .fits = static_cast<bool>(report.verdict)};
  if (report.numbers != base) tried.other_numbers = report.numbers;
  for (const PlannedClass& one : report.classes) {
    tried.total = std::max({tried.total, one.planned.at("total"), one.fits_host ? 0 : one.host.total()});
    tried.flops = std::max(tried.flops, one.work.flops);
    tried.sent = std::max(tried.sent, one.work.sent);
    const HostUpdateReport& host = one.host_updates;
    tried.moved = std::max(tried.moved, one.offloaded.put + one.offloaded.got + host.copied_out + host.copied_in);
  }
  return tried;
}

/// The same numbers come first. Arithmetic counts before bytes, where it differs by more than a percent.
bool is_better(const Advice::Tried& a, const Advice::Tried& b) {
  if (a.fits != b.fits) return a.fits;
  if (!a.fits) return a.total < b.total;
  if (a.other_numbers.empty() != b.other_numbers.empty()) return a.other_numbers.empty();
  const double scale = std::max(a.flops, b.flops) / 100;
  if (std::abs(a.flops - b.flops) > scale) return a.flops < b.flops;
  return a.sent + a.moved < b.sent + b.moved;
}

}  // namespace

std::vector<Alternative> alternatives(const Alternative& from, std::int64_t batch, const Registry& registry) {
  return Neighbourhood(from, batch, registry).all();
}

std::vector<MemberSpec> with_named_axes(std::vector<MemberSpec> strategies, const Mesh& mesh,
                                        const Registry& registry) {
  std::set<std::string> claimed;
  for (const MemberSpec& spec : strategies)
    if (const Result<Descriptor> plugin = registry.find("strategy", spec.name)) claimed.insert(axis_of(spec, *plugin));
  for (const MeshAxis& axis : mesh.axes)
    if (!claimed.contains(axis.name) && registry.find("strategy", axis.name))
      strategies.push_back({axis.name, {}, {}, {}});
  return strategies;
}

Advice advise(const PlanReport& report, const Choices& choices, std::int64_t batch, const Registry& registry,
              const PlanChoices& plan) {
  const double end = processor_seconds() + kPatience;
  Advice advice;
  std::set<std::string> seen{key_of(choices)};
  Alternative from{{}, choices};
  std::uint64_t least = measured(from, report, report.numbers).total;
  for (std::size_t change = 0; change < kMostChanges; ++change) {
    // Half of what is left, so that there is some for changes of the best of them.
    const bool is_last = change + 1 == kMostChanges;
    const double now = processor_seconds(), until = is_last ? end : now + (end - now) / 2;
    std::optional<Alternative> next;
    bool some_fit = false;
    for (Alternative& one : alternatives(from, batch, registry)) {
      if (!seen.insert(key_of(one.choices)).second) continue;
      if (processor_seconds() > until) {
        advice.is_over = false;
        break;
      }
      const Result<PlanReport> planned = plan(one.choices);
      if (!planned) {
        ++advice.refused;
        continue;
      }
      advice.tried.push_back(measured(one, *planned, report.numbers));
      some_fit = some_fit || advice.tried.back().fits;
      if (advice.tried.back().total < least) {
        least = advice.tried.back().total;
        next = std::move(one);
      }
    }
    if (some_fit || !next) break;
    from = std::move(*next);
  }
  std::ranges::stable_sort(advice.tried, is_better);
  return advice;
}

}  // namespace baleen::app
