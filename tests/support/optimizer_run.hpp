/// \file Drives an optimizer plugin for several steps over a FakeGraph, as the core does over a real one.
#pragma once
#include "baleen/optimizer.h"
#include "support/fake_graph.hpp"
#include "support/plugin_under_test.hpp"

namespace baleen::test {

/// Parameters with their slots, updated in place by `step`.
class OptimizerRun {
 public:
  OptimizerRun(const PluginUnderTest<baleen_optimizer_t>& plugin, TestSettings& settings,
               std::vector<Tensor> parameters)
      : plugin_(plugin), settings_(settings), parameters_(std::move(parameters)) {
    void* made = nullptr;
    check(plugin_.table.create(plugin_.host->get(), settings_.get(), &made));
    optimizer_ = {made, plugin_.table.destroy};  // destroyed even where `slots` refuses the settings
    baleen_slot_t slots[BALEEN_MAX_SLOTS];
    std::uint32_t count = 0;
    check(plugin_.table.slots(optimizer_.get(), settings_.get(), slots, &count));
    for (const Tensor& parameter : parameters_) {
      slots_.emplace_back();
      for (std::uint32_t i = 0; i < count; ++i) {
        Tensor slot{slots[i].scalar ? std::vector<std::int64_t>{} : parameter.shape, {}};
        slot.data.assign(static_cast<std::size_t>(slot.size()), slots[i].initial);
        slots_.back().push_back(slot);
      }
    }
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
