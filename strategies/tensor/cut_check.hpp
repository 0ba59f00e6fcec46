/// \file Whether a model's heads, inner widths and vocabulary can be cut over ranks, and what to change if not.
#pragma once
#include <string>

#include "baleen/strategy.hpp"

namespace baleen::tensor_parallel {

using namespace sdk;

/// The logical axes along which layers are cut: the inner dimensions of attention, of an mlp, and of the loss.
bool is_inner(std::string_view logical_axis);

/// The first dimension with an inner logical axis, if any.
std::optional<int> inner_dimension(const baleen_value_info_t& value);

/// What cuts inner dimensions: an axis of the mesh, of which `split` may have made the manifest's, as a side of squares
/// or cubes.
struct InnerAxis {
  std::int64_t parts = 1;
  std::string name;        ///< `tensor`, `tensor.col`
  std::string whole;       ///< the manifest's axis
  int exponent = 1;        ///< of the parts, in the ranks of `whole`
  std::int64_t depth = 1;  ///< squares
};

/// The side `col` of squares (exponent 2) or cubes (3), a part of the manifest's axis.
InnerAxis inner_axis(MeshView mesh, std::uint32_t col, int exponent, std::int64_t depth = 1);

/// That every parameter with an inner dimension has at least one block for each part, and that the heads of grouped
/// attention divide: a rank needs the keys and values of its own queries.
Status check_inner(GraphView graph, const InnerAxis& axis);

/// That each of `parts` parts of the batch has a row. `what` says what the parts are, "rows of the grid".
Status check_batch(GraphView graph, std::int64_t parts, std::string_view what);

/// Whether a value has a dimension of at least `parts` that is neither the batch nor the sequence.
bool is_wide(const baleen_value_info_t& value, std::int64_t parts);

/// A value whose first dimension is the batch.
bool is_batch(const baleen_value_info_t& value);

}  // namespace baleen::tensor_parallel
