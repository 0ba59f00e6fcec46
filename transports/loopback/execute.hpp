/// \file What a collective does, written down plainly: all members' buffers lie in this process.
#pragma once
#include <vector>

#include "baleen/collective.hpp"

namespace baleen::loopback {

/// Runs a collective of all members at once; `members[r]` is member r's view. Of a pair: the sender, then the receiver.
void execute(const std::vector<const Collective*>& members);

}  // namespace baleen::loopback
