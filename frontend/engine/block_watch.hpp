/// \file Compares and digests what a launch uses block by block, while its kernel tells of the blocks.
#pragma once
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "baleen/blockwise.h"
#include "frontend/engine/block_digests.hpp"

namespace baleen {
class Session;
}

namespace baleen::app {

/// "in step 5": the one that runs.
std::string in_step(const Session& session);

/// Of one launch after the other. [blocks: any thread; the others: the one that launches]
class BlockWatch {
 public:
  struct Use {
    BlockDigests* tensor;
    std::uint64_t from = 0;   ///< the launch's first byte there
    bool is_compared = true;  ///< each block before it is touched
    bool is_written = true;   ///< each gets its digest behind it
  };

  /// The session outlives the launches.
  void attach(const Session& session);
  /// Of the next launch: to be filled anew for each.
  std::vector<Use>& uses() { return uses_; }
  /// For its kernel; null where nothing of it is watched.
  const baleen_block_watch_t* table();
  /// DAMAGED where a block was not as before: once.
  Status take_damage();

 private:
  bool before(std::uint64_t first);
  void after(std::uint64_t first);

  const Session* session_ = nullptr;
  std::vector<Use> uses_;
  baleen_block_watch_t table_{};
  std::mutex mutex_;  ///< of the next one
  std::optional<Error> damage_;
};

}  // namespace baleen::app
