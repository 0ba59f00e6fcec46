/// \file The shared-memory transport: plan time here, run time in worker.hpp.
#pragma once
#include <map>
#include <memory>
#include <vector>

#include "arenas.hpp"
#include "baleen/failure.hpp"
#include "baleen/transport.hpp"
#include "compile.hpp"
#include "group.hpp"
#include "mesh.hpp"
#include "worker.hpp"

namespace baleen::shm {

using namespace sdk;

class SharedMemoryTransport : public Transport {
 public:
  static Result<std::unique_ptr<SharedMemoryTransport>> create(const Host& host, const Settings& settings,
                                                               const Rendezvous& rendezvous,
                                                               baleen_transport_flags_t flags);
  ~SharedMemoryTransport() override;

  Result<void*> allocate(std::uint64_t bytes) override;
  void release(void* base) override { arenas_.release(base); }
  Result<void*> group_create(std::vector<std::int32_t> ranks) override;
  void group_destroy(void* group) override;
  Result<void*> prepare(void* group, const baleen_collective_spec_t& spec) override;
  Status start(void* slot, baleen_event_t* after, std::uint64_t after_value, baleen_event_t* done,
               std::uint64_t done_value) override;
  Status check() override { return failure_.status(); }
  void abort(std::string_view reason) override;

 private:
  // What the others who are present brought, and this rank, in the order of ranks.
  struct Meeting {
    std::vector<Letter> letters;
    FileHandle memory;  // of the board or channel that one of them made
    std::uint64_t memory_bytes = 0;
  };

  explicit SharedMemoryTransport(std::unique_ptr<Mesh> mesh);
  Status share_boards(const Rendezvous& rendezvous);
  Result<Meeting> meet(const Proposal& mine, const SharedMemory* memory);
  Letter letter_for(const Proposal& mine) const;
  std::vector<Peer> peers_of(const Group& group, const Meeting& meeting, const Collective& mine) const;
  std::byte* reach(std::int32_t rank, const Location& location, const void* own) const;
  Status compile(Slot& slot, const Meeting& meeting, const Collective& mine) const;
  Result<std::unique_ptr<ChannelEnd>> connect(const Meeting& meeting, const Collective& mine,
                                              SharedMemory memory) const;

  std::unique_ptr<Mesh> mesh_;
  SharedMemory memory_;  // of this rank
  std::vector<SharedMemory> theirs_;
  std::vector<RankBoard*> boards_;  // by rank
  Arenas arenas_;
  std::vector<std::unique_ptr<Group>> groups_;
  FirstFailure failure_;
  std::unique_ptr<Worker> worker_;
};

}  // namespace baleen::shm
