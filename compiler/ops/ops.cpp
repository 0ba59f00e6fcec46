/// \file Registers the families of built-in ops.
#include "compiler/ops/ops.hpp"

#include "compiler/ops/families.hpp"

namespace baleen {

Status register_builtin_ops(OpRegistry& registry) {
  for (const auto& add :
       {ops::register_attention, ops::register_collective, ops::register_cross_entropy, ops::register_cut,
        ops::register_embedding, ops::register_linear_cross_entropy, ops::register_local_region, ops::register_matmul,
        ops::register_move, ops::register_norm, ops::register_pointwise, ops::register_reduce, ops::register_shape,
        ops::register_softmax, ops::register_structural, ops::register_top_k})
    BALEEN_TRY(add(registry));
  return {};
}

}  // namespace baleen
