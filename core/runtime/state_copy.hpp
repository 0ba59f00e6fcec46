/// \file What this rank's parameters and states were, to go back to.
#pragma once
#include <cstddef>
#include <memory>
#include <vector>

#include "core/runtime/session_impl.hpp"

namespace baleen {

/// Of all persistent tensors as this rank stores them, in the host's memory.
class Session::Impl::StateCopy {
 public:
  /// Null where the host has no memory for it, or a tensor cannot be read.
  static std::unique_ptr<StateCopy> of(Impl& session);
  Status give_back(Impl& session) const;

 private:
  std::vector<std::vector<std::byte>> tensors_;  ///< as in the layout
};

}  // namespace baleen
