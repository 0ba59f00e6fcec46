#include "unit/strategies/precision/planned.hpp"

#include <stdexcept>

namespace baleen::test {

Planned plan_with_precision(Job job, UserValues options) {
  job.strategies.push_back({"precision", std::move(options), {}, "train.lua:7"});
  Planned planned;
  auto made = make_plan(std::move(job), plugins(), [&](const std::string& phase, const Graph& graph) {
    if (phase.starts_with("train: ")) planned.after[phase.substr(7)] = graph;
  });
  if (!made) throw std::runtime_error(made.error().text());
  planned.plan = *std::move(made);
  return planned;
}

Steps::Steps(Planned planned, std::uint64_t seed) : planned_(std::move(planned)) {
  ReferenceInterpreter initialize(planned_.plan.initialize().graph, seed);
  for (const PersistentSpec& spec : planned_.plan.persistent)
    initialize.set(spec.name, Numbers(static_cast<std::size_t>(element_count(spec.type.shape))));
  initialize.run();
  for (const auto& [name, tensor] : initialize.assigned()) stored_[name] = tensor.data;
}

void Steps::run(const std::map<std::string, Numbers>& inputs) {
  const Graph& graph = planned_.plan.train().graph;
  ReferenceInterpreter step(graph, 1, steps_++);
  for (const auto& [name, numbers] : stored_) step.set(name, numbers);
  for (const auto& [name, numbers] : inputs) step.set(name, numbers);
  step.set("lr", {0.1});
  step.run();
  for (const auto& [name, tensor] : step.assigned()) stored_[name] = tensor.data;
  for (const GraphOutput& output : graph.outputs()) outputs_[output.name] = step.output(output.name)[0];
}

}  // namespace baleen::test
