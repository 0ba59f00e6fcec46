/// \file A local region in place of one op: opens its operands, appends ops on what a rank holds, closes its results.
#pragma once
#include <initializer_list>
#include <string>
#include <vector>

#include "baleen/graph.hpp"
#include "baleen/strategy.hpp"

namespace baleen::sequence_parallel {

/// An attribute of whole numbers.
struct Integers {
  std::string_view name;
  std::vector<std::int64_t> values;
};

/// Every method throws Failed where the graph refuses.
class Region {
 public:
  /// Permutations go along `axis`.
  Region(GraphView graph, MeshView mesh, std::uint32_t axis, baleen_op_t op);

  std::int64_t ranks() const { return ranks_; }

  /// What a rank holds of `value`. Every rank must hold as much: `even_parts` says so.
  Value open(baleen_value_t value);
  /// `local` is what each rank holds of the result `whole` of the op; its users read that from here on.
  void close(Value local, baleen_value_t whole);

  /// From the rank before, around the ring.
  Value from_neighbour(Value x);
  /// `x`, whose readers begin only when `others` are there: so that no more pieces are on their way, and no more results
  /// live, than there is work for.
  Value after(Value x, std::initializer_list<Value> others);
  /// This rank's coordinate, a scalar.
  Value coordinate();
  /// `then` on ranks from coordinate `first` on, `otherwise` on those before; one of them is a value.
  Value from_rank_on(std::int64_t first, Operand then, Operand otherwise);

  Value slice(Value x, std::int64_t dim, std::int64_t start, std::int64_t length);
  Value concat(std::initializer_list<Value> parts, std::int64_t dim);
  Value reshape(Value x, std::vector<std::int64_t> shape);
  Value transpose(Value x, std::vector<std::int64_t> permutation);
  /// `attention` or `attention_grad`.
  std::vector<Value> attention(std::string_view kind, const std::vector<Value>& inputs, double scale, bool causal,
                               std::size_t results);

 private:
  Value append(std::string_view kind, std::initializer_list<Value> inputs, std::initializer_list<Integers> attributes);

  const baleen_graph_t* graph_;
  MeshView mesh_;
  std::uint32_t axis_;
  std::int64_t ranks_;
  Value coordinate_;
};

/// The extents of what a rank holds of a value that is laid out.
std::vector<std::int64_t> local_shape(const baleen_value_info_t& value, MeshView mesh);
/// That every rank holds equal parts of an op's operand, as a local region needs them. `op`: its name, for the message.
Status check_even(std::string_view op, const baleen_value_info_t& operand, MeshView mesh);

}  // namespace baleen::sequence_parallel
