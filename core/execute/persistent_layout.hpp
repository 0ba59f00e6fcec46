/// \file Where the persistent tensors of a job lie on a rank.
#pragma once
#include <vector>

#include "compiler/codegen/executable.hpp"

namespace baleen {

/// One behind the other in the persistent arena, or in slots of the offload store. Bytes are those of the rank at `at`.
PersistentLayout lay_out(const std::vector<PersistentSpec>& specs, std::uint64_t alignment, const Mesh& mesh = {},
                         const Coordinates& at = {});

}  // namespace baleen
