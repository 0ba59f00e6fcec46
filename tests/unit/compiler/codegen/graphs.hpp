/// \file Small graphs for tests of programs.
#pragma once
#include <optional>
#include <random>

#include "compiler/graph/graph.hpp"

namespace baleen::test {

/// Appends to a graph; errors are thrown, since these graphs are ours.
class GraphMaker {
 public:
  /// `floats`: the dtype of what the graph's sources hold.
  explicit GraphMaker(baleen_dtype_t floats = BALEEN_F64);

  ValueId parameter(const std::string& name, Shape shape);
  ValueId state(const std::string& name, Shape shape);
  /// With the logical axis "batch" on dimension 0, so that it can be cut.
  ValueId batch(const std::string& name, Shape shape, std::optional<baleen_dtype_t> dtype = {});
  ValueId op(const std::string& kind, std::vector<ValueId> inputs, Attributes attributes = {},
             const std::string& name = {});
  std::vector<ValueId> ops(const std::string& kind, std::vector<ValueId> inputs, Attributes attributes = {});
  ValueId unary(std::uint32_t opcode, ValueId x);
  ValueId binary(std::uint32_t opcode, ValueId a, ValueId b);
  /// x times a number.
  ValueId scale(ValueId x, double factor);
  ValueId matmul(const std::string& spec, ValueId a, ValueId b);
  ValueId sum(ValueId x, std::vector<std::int64_t> dims);
  ValueId concat(std::vector<ValueId> parts, std::int64_t dim);
  ValueId slice(ValueId x, std::int64_t dim, std::int64_t start, std::int64_t length);
  ValueId reshape(ValueId x, Shape shape);
  ValueId transpose(ValueId x, std::vector<std::int64_t> permutation);
  void assign(ValueId target, ValueId value);
  void output(const std::string& name, ValueId value) { graph.set_output(name, value); }
  const Shape& shape(ValueId v) const { return graph.value(v).shape; }

  Graph graph;
  const baleen_dtype_t floats;
};

/// A network with dropout, norm, softmax loss, its gradients, a momentum update with clipping: all that a step of
/// training has. Batch inputs "x" and "target".
Graph training_graph(std::int64_t batch);

/// Any ops in any order on small tensors, with assigns of all sorts.
Graph random_graph(std::uint64_t seed, int size);

}  // namespace baleen::test
