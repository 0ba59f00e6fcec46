/// \file Drives an optimizer plugin for several steps over a FakeGraph, as the core does over a real one.
#pragma once
#include "baleen/optimizer.h"
#include "support/fake_graph.hpp"
#include "support/plugin_under_test.hpp"

namespace baleen::test {

/// The slots that a parameter of this shape has before the first step, asked for as the core asks.
inline std::vector<Tensor> first_slots(const PluginUnderTest<baleen_optimizer_t>& plugin, void* optimizer,
                                       const baleen_settings_t* settings, const Tensor& parameter) {
  const auto check = [&](baleen_status_t status) {
    if (status != BALEEN_OK) throw std::runtime_error(plugin.host->failure());
  };
  const auto filled = [](std::vector<std::int64_t> shape, double value) {
    Tensor slot{std::move(shape), {}};
    slot.data.assign(static_cast<std::size_t>(slot.size()), value);
    return slot;
  };
  std::vector<Tensor> all;
  if (!plugin.table.slots_of) {
    baleen_slot_t slots[BALEEN_MAX_SLOTS];
    std::uint32_t count = 0;
    check(plugin.table.slots(optimizer, settings, slots, &count));
    for (std::uint32_t i = 0; i < count; ++i)
      all.push_back(filled(slots[i].scalar ? std::vector<std::int64_t>{} : parameter.shape, slots[i].initial));
    return all;
  }
  std::vector<baleen_shaped_slot_t> slots;
  const std::vector<baleen_string_t> axes(parameter.shape.size(), abi(""));
  const auto add = [](void* self, const baleen_shaped_slot_t* slot) {
    static_cast<std::vector<baleen_shaped_slot_t>*>(self)->push_back(*slot);
  };
  const baleen_slots_t asked{sizeof(asked),
                             abi("parameter"),
                             BALEEN_F64,
                             static_cast<std::uint32_t>(parameter.shape.size()),
                             parameter.shape.data(),
                             axes.data(),
                             settings,
                             &slots,
                             add};
  check(plugin.table.slots_of(optimizer, &asked));
  for (const baleen_shaped_slot_t& slot : slots)
    all.push_back(filled({slot.shape, slot.shape + slot.rank}, slot.initial));
  return all;
}

/// Parameters with their slots, updated in place by `step`.
class OptimizerRun {
 public:
  OptimizerRun(const PluginUnderTest<baleen_optimizer_t>& plugin, TestSettings& settings,
               std::vector<Tensor> parameters)
      : plugin_(plugin), settings_(settings), parameters_(std::move(parameters)) {
    void* made = nullptr;
    check(plugin_.table.create(plugin_.host->get(), settings_.get(), &made));
    optimizer_ = {made, plugin_.table.destroy};  // destroyed even where `slots` refuses the settings
    for (const Tensor& parameter : parameters_)
      slots_.push_back(first_slots(plugin_, optimizer_.get(), settings_.get(), parameter));
  }
  OptimizerRun(const OptimizerRun&) = delete;

  /// One update with these gradients and rate. Throws what the plugin reported.
  void step(const std::vector<std::vector<double>>& gradients, double lr) {
    FakeGraph graph(plugin_.host->get());
    settings_.set_value("lr", graph.add(lr));
    std::vector<std::vector<baleen_value_t>> slot_values(parameters_.size());
    std::vector<baleen_update_t> updates(parameters_.size());
    const baleen_value_t count = graph.add(static_cast<double>(count_));
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      for (const Tensor& slot : slots_[i]) slot_values[i].push_back(graph.add(slot));
      updates[i].size = sizeof(baleen_update_t);
      updates[i].name = abi("parameter");
      updates[i].parameter = graph.add(parameters_[i]);
      updates[i].gradient = graph.add(Tensor{parameters_[i].shape, gradients[i]});
      updates[i].count = count;
      updates[i].slot_count = static_cast<std::uint32_t>(slot_values[i].size());
      updates[i].slots = slot_values[i].data();
      updates[i].settings = settings_.get();
    }
    if (plugin_.table.begin) check(plugin_.table.begin(optimizer_.get(), graph.get(), updates.data(), updates.size()));
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      check(plugin_.table.update(optimizer_.get(), graph.get(), &updates[i]));
      parameters_[i] = graph[updates[i].new_parameter];
      for (std::size_t s = 0; s < slots_[i].size(); ++s) slots_[i][s] = graph[updates[i].new_slots[s]];
    }
    ++count_;
  }

  const std::vector<double>& parameter(std::size_t i = 0) const { return parameters_[i].data; }
  const Tensor& tensor(std::size_t i = 0) const { return parameters_[i]; }
  const std::vector<Tensor>& slots(std::size_t i = 0) const { return slots_[i]; }

 private:
  void check(baleen_status_t status) const {
    if (status != BALEEN_OK) throw std::runtime_error(plugin_.host->failure());
  }

  const PluginUnderTest<baleen_optimizer_t>& plugin_;
  TestSettings& settings_;
  std::vector<Tensor> parameters_;
  std::vector<std::vector<Tensor>> slots_;
  std::unique_ptr<void, void (*)(void*)> optimizer_{nullptr, nullptr};
  std::int64_t count_ = 0;
};

}  // namespace baleen::test
