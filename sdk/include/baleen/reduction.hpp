/// \file Element-wise reduction of many arrays, as the balanced tree over their order that every transport promises.
/// A plugin that uses it links it: `baleen_add_reductions(target)`.
#pragma once
#include <cstddef>

#include "baleen/transport.h"

namespace baleen::sdk {

/// Reduces `count` elements of `source_count` arrays into each of the destinations. A destination may be a source, but
/// not overlap one otherwise. Sources may lie anywhere; destinations' elements are aligned to their size.
using Reduction = void (*)(const std::byte* const* sources, std::size_t source_count, std::byte* const* destinations,
                           std::size_t destination_count, std::size_t count);

/// For this machine's best instruction set.
Reduction best_reduction(baleen_dtype_t dtype, baleen_reduction_t reduction);

}  // namespace baleen::sdk
