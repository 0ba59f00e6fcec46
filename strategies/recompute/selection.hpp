/// \file What runs again by a rule: whole blocks, or ops that are cheap.
#pragma once
#include <string>
#include <vector>

#include "blocks.hpp"

namespace baleen::recompute {

/// Each `interval`-th block but for its results, so that of it only what it reads is kept, and what others read of it.
/// Of a block with ops that cannot run again, since another strategy lowers them, what saves something.
Chosen whole_blocks(const ForwardPass& pass, const Blocks& blocks, int interval);

struct CheapOps {
  std::vector<std::string> patterns;  ///< of kinds of ops and of paths of layers; none: attention
  double flops_per_byte = 0;          ///< ops that compute at most so much per byte that they make
};

/// Cheap ops, without those that save nothing. INVALID where a pattern stands for no op.
Result<Chosen> cheap_ops(const ForwardPass& pass, const CheapOps& options);

}  // namespace baleen::recompute
