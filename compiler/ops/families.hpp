/// \file One registering function per source file of this folder.
#pragma once
#include "compiler/graph/op_kind.hpp"

namespace baleen::ops {

Status register_collective(OpRegistry& registry);
Status register_cut(OpRegistry& registry);
Status register_local_region(OpRegistry& registry);
Status register_move(OpRegistry& registry);
Status register_pointwise(OpRegistry& registry);
Status register_reduce(OpRegistry& registry);
Status register_shape(OpRegistry& registry);
Status register_structural(OpRegistry& registry);

}  // namespace baleen::ops
