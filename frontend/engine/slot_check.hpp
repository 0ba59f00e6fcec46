/// \file That slots keep what updates on the host's cores beside the device wrote there.
#pragma once
#include <string>
#include <vector>

#include "core/execute/host_cores.hpp"
#include "frontend/engine/block_watch.hpp"

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
  const baleen_block_watch_t* blocks() override { return blocks_.table(); }
  Status after(const Launch& launch) override;

 private:
  BlockDigests* holder_of(const void* address);

  const Session* session_ = nullptr;
  std::vector<BlockDigests> slots_;  ///< by address
  BlockWatch blocks_;
  std::vector<BlockDigests*> as_wholes_;  ///< of the launch: whose blocks its kernel does not tell of
};

}  // namespace baleen::app
