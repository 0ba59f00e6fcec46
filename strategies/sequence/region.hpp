/// \file A local region in place of one op: opens its operands, appends ops on what a rank holds, closes its results.
#pragma once
#include <initializer_list>
#include <string>
#include <vector>

#include "baleen/strategy.hpp"

namespace baleen::sequence_parallel {

using namespace sdk;

/// The ranks among which keys travel.
struct RingOfRanks {
  MeshView mesh;
  std::uint32_t axis;
  std::int64_t micro_batches;

  std::int64_t size() const { return mesh.size(axis); }
};

/// Every method throws Failed where the graph refuses.
class Region {
 public:
  Region(GraphView graph, const RingOfRanks& ring, baleen_op_t op);

  std::int64_t ranks() const { return ring_.size(); }

  /// What a rank holds of `value`, with zeros behind it where it holds less than others.
  Value open(baleen_value_t value);
  /// `local` is what each rank holds of the result `whole` of the op, here rounded to its dtype; its users read that
  /// from here on.
  void close(Value local, baleen_value_t whole);

  /// From the rank before, around the ring.
  Value from_neighbour(Value x);
  /// `x`, whose readers begin only when `others` are there: so that no more pieces are on their way, and no more
  /// results live, than there is work for.
  Value after(Value x, std::initializer_list<Value> others);
  /// `x`, whose readers stand behind the beginning of what brings `others`, and do not wait for its end.
  Value behind(Value x, std::initializer_list<Value> others);
  /// `then` on ranks from coordinate `first` on, `otherwise` on those before.
  Value from_rank_on(std::int64_t first, Value then, Value otherwise);
  /// `x` on ranks from coordinate `first` on, 0 on those before; `before`: the other way around.
  Value or_zero(std::int64_t first, Value x, bool before);

  /// For sums on a rank: in fp32 where it has 16 bits.
  Value wide(Value x);
  Value slice(Value x, std::int64_t dim, std::int64_t start, std::int64_t length);
  Value concat(std::initializer_list<Value> parts, std::int64_t dim);
  Value reshape(Value x, std::vector<std::int64_t> shape);
  Value transpose(Value x, std::vector<std::int64_t> permutation);
  /// `attention` or `attention_grad`.
  std::vector<Value> attention(std::string_view kind, const std::vector<Value>& inputs, double scale, bool causal,
                               std::size_t results);

 private:
  Value append(std::string_view kind, const std::vector<Value>& inputs, const AttributeList& attributes = {});
  Value coordinate();
  /// Enough for every rank and, of the batch, the same in every micro-batch.
  std::vector<std::int64_t> local_shape(const baleen_value_info_t& value) const;

  GraphView graph_;
  RingOfRanks ring_;
  Value coordinate_;
};

/// Along how many ranks dimension `dim` is cut.
std::int64_t ranks_that_cut(const baleen_value_info_t& value, MeshView mesh, std::int32_t dim);

}  // namespace baleen::sequence_parallel
