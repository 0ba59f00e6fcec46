/// \file Drives an optimizer for some steps over a FormulaGraph, as the core does over a real one.
#pragma once
#include <string>
#include <vector>

#include "baleen/optimizer.h"
#include "frontend/validate/formula_graph.hpp"
#include "frontend/validate/subject.hpp"

namespace baleen::validate {

/// A slot as the plugin has asked for it.
struct AskedSlot {
  std::string name;
  Numbers first;  ///< before the first step
};

/// Parameters with their slots, of which `step` makes new ones. Everything that an optimizer's answer must be is
/// checked there; what is not throws Failure.
class OptimizerSteps {
 public:
  struct Options {
    baleen_dtype_t dtype = BALEEN_F64;
    std::size_t behind = 0;  ///< bytes that a later host has behind each update
  };

  OptimizerSteps(const Opened& plugin, SettingsStorage& settings, const Descriptor& descriptor,
                 std::vector<Numbers> parameters, Options options);
  OptimizerSteps(const Opened& plugin, SettingsStorage& settings, const Descriptor& descriptor,
                 std::vector<Numbers> parameters)
      : OptimizerSteps(plugin, settings, descriptor, std::move(parameters), Options{}) {}

  /// One update. `rate` stands for every option that is a schedule and named `lr`; others keep their value. Throws Skip
  /// where the plugin appends what the graph does not know, Refused where it fails. Where `counts` is false nothing of
  /// it is kept.
  void step(const std::vector<std::vector<double>>& gradients, double rate, bool counts = true);
  /// The status of one update over a graph that refuses the append after `refused` others, and in `appended` how many
  /// there were.
  Error refused_step(const std::vector<double>& gradient, std::size_t refused, std::size_t& appended, bool& failed);

  const Numbers& parameter(std::size_t i = 0) const { return parameters_[i]; }
  const std::vector<Numbers>& slots(std::size_t i = 0) const { return slots_[i]; }
  const std::vector<AskedSlot>& asked(std::size_t i = 0) const { return asked_[i]; }
  const States& states() const { return states_; }
  std::uint32_t traits() const;

 private:
  struct Call;
  std::vector<AskedSlot> ask(const std::string& parameter_name, const Numbers& parameter) const;
  void set_schedules(FormulaGraph& graph, double rate);
  void keep(const FormulaGraph& graph, const baleen_update_t& update, std::size_t number);

  const Opened& plugin_;
  SettingsStorage& settings_;
  const Descriptor& descriptor_;
  Options options_;
  Made<baleen_optimizer_t> made_;
  std::vector<Numbers> parameters_;
  std::vector<std::string> names_;  ///< of the parameters, which differ
  std::vector<std::vector<AskedSlot>> asked_;
  std::vector<std::vector<Numbers>> slots_;
  States states_;
  std::int64_t count_ = 0;
};

}  // namespace baleen::validate
