/// \file Kinds of ops from plugins (baleen/op_kind.h) as the compiler sees kinds.
#pragma once
#include "compiler/graph/op_kind.hpp"
#include "core/plugin/registry.hpp"

namespace baleen {

/// Opens the plugins of kind "op" and adds their kinds. Fails, naming plugin and kind, where a schema is wrong, or a
/// name is taken by another kind.
Status register_op_plugins(OpRegistry& registry, const Registry& plugins);

/// Adds the kinds of one plugin, which stays open as long as the registry lives.
Status register_op_plugin(OpRegistry& registry, const Plugin& plugin);

}  // namespace baleen
