/// \file The blocks of a model: layers of a kind, one after the other.
#pragma once
#include <string>
#include <vector>

#include "forward_pass.hpp"

namespace baleen::recompute {

struct Blocks {
  std::vector<std::string> names;  ///< paths of layers, in the order in which they begin
  std::vector<int> of;             ///< the block of each op; -1: none

  int count() const { return static_cast<int>(names.size()); }
};

/// With `patterns` each layer whose path one of them stands for; of layers inside each other the outermost. Else the
/// layers of `nn.repeated`, whose ops have the tag "block"; the innermost. INVALID where a pattern stands for no layer.
Result<Blocks> find_blocks(const ForwardPass& pass, const std::vector<std::string>& patterns);

/// Whether an op outside of the block, or of the range of ops, reads what this op makes, or a view of it.
bool is_read_outside(const ForwardPass& pass, const Blocks& blocks, std::size_t op);
bool is_read_from(const ForwardPass& pass, std::size_t op, std::size_t end);

}  // namespace baleen::recompute
