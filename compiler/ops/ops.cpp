/// \file Registers the families of built-in ops.
#include "compiler/ops/ops.hpp"

#include "compiler/ops/rules.hpp"

namespace baleen {

Status register_builtin_ops(OpRegistry& registry) {
  for (const auto& add : {ops::register_collective, ops::register_local_region, ops::register_structural})
    BALEEN_TRY(add(registry));
  return {};
}

}  // namespace baleen
