/// \file Asks for slots, makes updates, and checks each answer.
#include "frontend/validate/optimizer_steps.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <utility>

#include "baleen/host.hpp"

namespace baleen::validate {
namespace {

constexpr std::size_t kLongestSlotName = 63;

Numbers filled(std::vector<std::int64_t> shape, double value) {
  Numbers numbers{std::move(shape), {}};
  numbers.data.assign(static_cast<std::size_t>(numbers.size()), value);
  return numbers;
}

/// What every slot must be, however it was asked for.
void check_slots(const std::vector<AskedSlot>& slots) {
  if (slots.size() > BALEEN_MAX_SLOTS)
    throw Failure("asks for " + std::to_string(slots.size()) + " slots; there may be " +
                  std::to_string(BALEEN_MAX_SLOTS));
  std::set<std::string> names;
  for (const AskedSlot& slot : slots) {
    if (slot.name.empty()) throw Failure("has a slot without a name");
    if (!names.insert(slot.name).second) throw Failure("has two slots named `" + slot.name + "`");
    if (!slot.first.data.empty() && !std::isfinite(slot.first.data[0]))
      throw Failure("slot `" + slot.name + "` begins as a number that is not finite");
  }
}

AskedSlot plain_slot(const baleen_slot_t& slot, const Numbers& parameter) {
  if (std::memchr(slot.name, 0, sizeof slot.name) == nullptr) throw Failure("the name of a slot does not end");
  if (slot.scalar > 1) throw Failure("slot `" + std::string(slot.name) + "`: `scalar` is 0 or 1");
  return {slot.name, filled(slot.scalar ? std::vector<std::int64_t>{} : parameter.shape, slot.initial)};
}

AskedSlot shaped_slot(const baleen_shaped_slot_t& slot, const Numbers& parameter) {
  const std::string name(view(slot.name));
  if (name.size() > kLongestSlotName) throw Failure("slot `" + name + "`: a name has at most 63 bytes");
  if (slot.rank > BALEEN_MAX_RANK) throw Failure("slot `" + name + "` has rank " + std::to_string(slot.rank));
  for (std::uint32_t d = 0; d < slot.rank; ++d) {
    if (slot.shape[d] < 1) throw Failure("slot `" + name + "` has extent " + std::to_string(slot.shape[d]));
    const std::int32_t follows = slot.follows[d];
    if (follows == -1) continue;
    if (follows < 0 || static_cast<std::size_t>(follows) >= parameter.shape.size())
      throw Failure("slot `" + name + "` follows dimension " + std::to_string(follows) + " of a parameter of rank " +
                    std::to_string(parameter.shape.size()));
    if (slot.shape[d] != parameter.shape[static_cast<std::size_t>(follows)])
      throw Failure("slot `" + name + "` follows a dimension and has another extent");
  }
  return {name, filled({slot.shape, slot.shape + slot.rank}, slot.initial)};
}

}  // namespace

/// The updates of one step, as far apart as a host may lay them, with a pattern behind each.
struct OptimizerSteps::Call {
  Call(OptimizerSteps& run, FormulaGraph& graph, const std::vector<std::vector<double>>& gradients, double rate)
      : stride(sizeof(baleen_update_t) + run.options_.behind), values(run.parameters_.size()) {
    const std::size_t words = (stride * run.parameters_.size()) / sizeof(std::uint64_t);
    memory.assign(words, kPattern);
    run.set_schedules(graph, rate);
    const baleen_value_t count = graph.add(static_cast<double>(run.count_));
    for (std::size_t i = 0; i < run.parameters_.size(); ++i) {
      for (const Numbers& slot : run.slots_[i]) values[i].push_back(graph.add(slot));
      baleen_update_t one{};
      one.size = stride;
      one.name = abi(run.names_[i]);
      one.parameter = graph.add(run.parameters_[i]);
      one.gradient = graph.add(Numbers{run.parameters_[i].shape, gradients[i]});
      one.count = count;
      one.slot_count = static_cast<std::uint32_t>(values[i].size());
      one.slots = values[i].data();
      one.settings = run.settings_.get();
      one.new_parameter = BALEEN_NONE;
      std::ranges::fill(one.new_slots, BALEEN_NONE);
      *at(i) = one;
    }
  }
  baleen_update_t* at(std::size_t i) {
    return reinterpret_cast<baleen_update_t*>(reinterpret_cast<char*>(memory.data()) + i * stride);
  }
  void check_pattern(std::size_t i) {
    const auto* const begin = reinterpret_cast<const char*>(at(i)) + sizeof(baleen_update_t);
    for (std::size_t word = 0; word < (stride - sizeof(baleen_update_t)) / sizeof kPattern; ++word)
      if (std::memcmp(begin + word * sizeof kPattern, &kPattern, sizeof kPattern) != 0)
        throw Failure("`update` writes behind the struct that it knows");
  }

  static constexpr std::uint64_t kPattern = 0xabababababababab;
  std::size_t stride;
  std::vector<std::uint64_t> memory;
  std::vector<std::vector<baleen_value_t>> values;
};

OptimizerSteps::OptimizerSteps(const Opened& plugin, SettingsStorage& settings, const Descriptor& descriptor,
                               std::vector<Numbers> parameters, Options options)
    : plugin_(plugin),
      settings_(settings),
      descriptor_(descriptor),
      options_(options),
      made_(plugin, settings.get()),
      parameters_(std::move(parameters)) {
  for (const Numbers& parameter : parameters_) {
    names_.push_back("layers." + std::to_string(names_.size()) + ".weight");
    asked_.push_back(ask(names_.back(), parameter));
    slots_.emplace_back();
    for (const AskedSlot& slot : asked_.back()) slots_.back().push_back(slot.first);
  }
}

std::uint32_t OptimizerSteps::traits() const { return plugin_.call("`traits`", made_.table().traits, made_.get()); }

std::vector<AskedSlot> OptimizerSteps::ask(const std::string& parameter_name, const Numbers& parameter) const {
  std::vector<AskedSlot> all;
  const baleen_optimizer_t& table = made_.table();
  if (!table.slots_of) {
    baleen_slot_t slots[BALEEN_MAX_SLOTS] = {};
    std::uint32_t count = 0;
    plugin_.ok("`slots`", table.slots, made_.get(), settings_.get(), slots, &count);
    if (count > BALEEN_MAX_SLOTS) throw Failure("asks for " + std::to_string(count) + " slots");
    for (std::uint32_t i = 0; i < count; ++i) all.push_back(plain_slot(slots[i], parameter));
  } else {
    struct Taken {
      const Numbers& parameter;
      std::vector<AskedSlot> slots;
      std::string problem;
    } taken{parameter, {}, {}};
    const auto add = [](void* self, const baleen_shaped_slot_t* slot) {
      auto& into = *static_cast<Taken*>(self);
      try {
        into.slots.push_back(shaped_slot(*slot, into.parameter));
      } catch (const Failure& why) {  // it must not pass through the plugin
        into.problem = why.what();
      }
    };
    const std::vector<baleen_string_t> axes(parameter.shape.size(), abi(""));
    const baleen_slots_t asked{sizeof asked,
                               abi(parameter_name),
                               options_.dtype,
                               static_cast<std::uint32_t>(parameter.shape.size()),
                               parameter.shape.data(),
                               axes.data(),
                               settings_.get(),
                               &taken,
                               add};
    plugin_.ok("`slots_of`", table.slots_of, made_.get(), &asked);
    if (!taken.problem.empty()) throw Failure(taken.problem);
    all = std::move(taken.slots);
  }
  check_slots(all);
  return all;
}

void OptimizerSteps::set_schedules(FormulaGraph& graph, double rate) {
  for (const Option& option : descriptor_.options) {
    if (option.type != BALEEN_OPTION_SCHEDULE) continue;
    const double number = option.name == "lr" ? rate : settings_.find(option.name)->number;
    settings_.set_value(option.name, graph.add(number));
  }
}

void OptimizerSteps::step(const std::vector<std::vector<double>>& gradients, double rate, bool counts) {
  const baleen_optimizer_t& table = made_.table();
  const States before = states_;
  FormulaGraph graph(plugin_.host(), options_.dtype, states_);
  Call call(*this, graph, gradients, rate);
  const auto must = [&](std::string_view name, baleen_status_t status) {
    if (status == BALEEN_OK) return;
    if (graph.unknown().empty()) plugin_.fails(name, status);
    plugin_.refusal(name, status);
    throw Skip("its update needs " + graph.unknown() + ", which validate does not compute");
  };
  if (table.begin)
    must("`begin`", plugin_.call("`begin`", table.begin, made_.get(), graph.get(),
                                 static_cast<const baleen_update_t*>(call.at(0)), std::uint64_t{parameters_.size()}));
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    must("`update`", plugin_.call("`update`", table.update, made_.get(), graph.get(), call.at(i)));
    call.check_pattern(i);
    if (counts) keep(graph, *call.at(i), i);
  }
  if (counts)
    ++count_;
  else
    states_ = before;
}

void OptimizerSteps::keep(const FormulaGraph& graph, const baleen_update_t& update, std::size_t number) {
  const auto take = [&](baleen_value_t value, const std::string& what, Numbers& into) {
    if (value == BALEEN_NONE) throw Failure("`update` gives no new value for " + what);
    if (!graph.has(value))
      throw Failure("`update` gives value " + std::to_string(value) + ", which is none, for " + what);
    if (graph[value].shape != into.shape) throw Failure("`update` gives a value of another shape for " + what);
    into = graph[value];
  };
  take(update.new_parameter, "the parameter", parameters_[number]);
  for (std::size_t s = 0; s < slots_[number].size(); ++s)
    take(update.new_slots[s], "slot `" + asked_[number][s].name + "`", slots_[number][s]);
}

Error OptimizerSteps::refused_step(const std::vector<double>& gradient, std::size_t refused, std::size_t& appended,
                                   bool& failed) {
  const baleen_optimizer_t& table = made_.table();
  States states = states_;
  FormulaGraph graph(plugin_.host(), options_.dtype, states);
  Call call(*this, graph, {gradient}, 0.1);
  graph.refuse_after(refused);
  std::string_view name = "`begin`";
  baleen_status_t status = BALEEN_OK;
  if (table.begin)
    status = plugin_.call(name, table.begin, made_.get(), graph.get(), static_cast<const baleen_update_t*>(call.at(0)),
                          std::uint64_t{1});
  if (status == BALEEN_OK) {
    name = "`update`";
    status = plugin_.call(name, table.update, made_.get(), graph.get(), call.at(0));
  }
  appended = graph.appended();
  failed = status != BALEEN_OK;
  if (!graph.unknown().empty()) throw Skip("its update needs " + graph.unknown());
  return failed ? plugin_.refusal(name, status) : Error{BALEEN_OK, {}, {}};
}

}  // namespace baleen::validate
