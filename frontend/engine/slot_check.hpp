/// \file That slots keep what updates on the host's cores beside the device wrote there.
#pragma once
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/execute/host_cores.hpp"
#include "frontend/engine/block_digests.hpp"

namespace baleen {
class Session;
}

namespace baleen::app {

/// Digests of the slots that these updates alone write. Each update compares what it uses there before it does, and
/// takes digests behind it: block by block, while they are in the cache, where the kernel tells of its blocks, else of
/// the whole slot. [launches: the host cores' thread; the others: while nothing runs]
class SlotCheck : public HostLaunchWatch {
 public:
  /// Takes what the slots hold now for right. The session outlives the launches.
  void attach(const Session& session);
  /// Between two runs: DAMAGED with the tensor, where a slot has changed. `when`: "after step 5,".
  Status compare(const std::string& when) const;
  void wrote(const PersistentBuffer& buffer);

  /// DAMAGED likewise.
  Status before(const Launch& launch) override;
  const baleen_block_watch_t* blocks() override;
  Status after(const Launch& launch) override;

 private:
  struct Use {
    BlockDigests* slot;
    std::uint64_t from;  ///< the launch's first byte there
  };

  BlockDigests* holder_of(const void* address);
  std::string in_step() const;
  bool before_block(std::uint64_t first);
  void after_block(std::uint64_t first);

  const Session* session_ = nullptr;
  std::vector<BlockDigests> slots_;  ///< by address
  std::vector<Use> in_blocks_, as_wholes_;
  baleen_block_watch_t block_watch_{};
  std::mutex mutex_;  ///< of the next one
  std::optional<Error> damage_;
};

}  // namespace baleen::app
