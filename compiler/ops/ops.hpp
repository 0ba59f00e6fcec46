/// \file The built-in kinds of ops (README.md), and their registration.
#pragma once
#include "compiler/graph/op_kind.hpp"

namespace baleen {

/// Adds every built-in kind. Fails if one of the names is taken.
Status register_builtin_ops(OpRegistry& registry);

}  // namespace baleen
