/// \file What editors are told of the ops of plugins.
#pragma once
#include <string>

#include "compiler/graph/op_kind.hpp"

namespace baleen {

/// A Lua file of annotations, never run: a function for each kind that has a schema and that scripts may use
/// (`bind_kinds`), less those with a short form, which `scripts/lua/meta/ops.lua` describes.
std::string editor_stub(const OpRegistry& registry);

}  // namespace baleen
