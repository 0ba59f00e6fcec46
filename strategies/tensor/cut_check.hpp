/// \file Whether a model's heads, inner widths and vocabulary can be cut over ranks, and what to change if not.
#pragma once
#include "baleen/strategy.hpp"

namespace baleen::tensor_parallel {

/// The logical axes along which layers are cut: the inner dimensions of attention, of an mlp, and of the loss.
bool is_inner(std::string_view logical_axis);

/// The first dimension with an inner logical axis, if any.
std::optional<int> inner_dimension(const baleen_value_info_t& value);

/// That every parameter with an inner dimension has at least one block for each of `ranks`, and that the heads of
/// grouped attention divide: a rank needs the keys and values of its own queries. `axis` is for messages.
Status check_inner(GraphView graph, std::int64_t ranks, std::string_view axis);

}  // namespace baleen::tensor_parallel
