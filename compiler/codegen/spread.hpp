/// \file Where pieces of updates stand that run in the backward pass.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "compiler/codegen/passes.hpp"

namespace baleen {

/// Whether it is an elementwise update in the backward pass.
bool is_early_update(const Lowered& lowered, const ProgramStep& step);

/// Steps in a row that are pieces of one update are moved apart, if they stand in the backward pass (advance_updates):
/// evenly, by the work of the steps between, as far as nothing else touches what they write, or writes what they read.
/// So what they have in an offload store moves beside that work. `puts`: slots of the
/// store, by the root of what is put there when it is made. Returns the new number of each step.
std::vector<std::size_t> spread_pieces(const Lowered& lowered, std::vector<ProgramStep>& steps,
                                       const std::map<std::uint32_t, std::uint32_t>& puts);

}  // namespace baleen
