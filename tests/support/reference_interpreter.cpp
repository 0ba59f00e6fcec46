/// \file Walks a graph and calls the reference kernels.
#include "support/reference_interpreter.hpp"

#include "baleen/dtype.hpp"
#include "support/reference_expression.hpp"
#include "support/reference_kernels.hpp"

namespace baleen::test {
namespace {

std::map<std::string, Kernel> all_kernels() {
  std::map<std::string, Kernel> kernels;
  add_basic_kernels(kernels);
  add_network_kernels(kernels);
  add_attention_kernels(kernels);
  return kernels;
}

}  // namespace

void ReferenceInterpreter::run() {
  values_.clear();
  assigned_.clear();
  for (OpId id : graph_.ops()) run(graph_.op(id));
}

void ReferenceInterpreter::run(const Op& op) {
  static const std::map<std::string, Kernel> kernels = all_kernels();
  const std::string& kind = op.kind->name;
  const std::string where = kind + " `" + op.name + "` (op " + std::to_string(op.id) + "): ";
  if (kind == "assign") {
    assigned_[graph_.value(op.inputs[0]).name] = values_.at(op.inputs[1]);
    return;
  }
  if (op.kind->has(kStructural) && op.inputs.empty()) {
    auto it = sources_.find(op.attributes.text("name"));
    if (it == sources_.end()) throw std::runtime_error(where + "the test sets no value");
    values_[op.outputs[0]] = Tensor(graph_.value(op.outputs[0]).shape, it->second);
    return;
  }
  auto kernel = kernels.find(kind);
  if (kernel == kernels.end()) throw std::runtime_error(where + "the reference interpreter lacks this kind");
  Call call{op, {}, {}, {}, seed_, step_};
  for (ValueId input : op.inputs) call.inputs.push_back(&values_.at(input));
  for (ValueId output : op.outputs) {
    call.outputs.emplace_back(graph_.value(output).shape);
    call.dtypes.push_back(graph_.value(output).dtype);
  }
  try {
    kernel->second(call);
  } catch (const std::exception& error) {
    throw std::runtime_error(where + error.what());
  }
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    if (dtype_size(call.dtypes[i]) == 2)
      for (double& x : call.outputs[i].data) x = rounded(x, call.dtypes[i]);
    values_[op.outputs[i]] = std::move(call.outputs[i]);
  }
}

}  // namespace baleen::test
