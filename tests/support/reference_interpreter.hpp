/// \file Executes graphs in fp64, each kind by its definition in compiler/ops/README.md and by nothing else of the
/// product: what passes, gradients, expansions and kernels are compared with.
#pragma once
#include <map>
#include <string>

#include "compiler/graph/graph.hpp"
#include "support/reference_tensor.hpp"

namespace baleen::test {

/// Numbers are doubles whatever the dtype: results of 16 bits are rounded, of fp32 not; integers are exact.
/// `accumulate_micro` is the identity: the whole batch is one. Errors (an unknown kind, a missing source, an id outside
/// a table) are thrown as std::runtime_error. Borrowed: the graph.
class ReferenceInterpreter {
 public:
  explicit ReferenceInterpreter(const Graph& graph, std::uint64_t seed = 0, std::uint64_t step = 0)
      : graph_(graph), seed_(seed), step_(step) {}

  /// The value of a source (parameter, state, input, scalar) by its name.
  void set(const std::string& name, std::vector<double> data) { sources_[name] = std::move(data); }

  /// Computes all live ops; may be called again after `set`.
  void run();

  /// Of the last run.
  const Tensor& value(ValueId id) const { return values_.at(id); }
  /// A graph output by name.
  const Tensor& output(const std::string& name) const { return values_.at(graph_.output(name)); }
  /// What the program assigns to the parameters and states, by name.
  const std::map<std::string, Tensor>& assigned() const { return assigned_; }

 private:
  void run(const Op& op);

  const Graph& graph_;
  std::uint64_t seed_, step_;
  std::map<std::string, std::vector<double>> sources_;
  std::map<ValueId, Tensor> values_;
  std::map<std::string, Tensor> assigned_;
};

}  // namespace baleen::test
