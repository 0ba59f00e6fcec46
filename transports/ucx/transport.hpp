/// \file The UCX transport: plan time here, run time in worker.hpp.
#pragma once
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "baleen/failure.hpp"
#include "baleen/proposal.hpp"
#include "baleen/transport.hpp"
#include "device_arenas.hpp"
#include "direct_access.hpp"
#include "group.hpp"
#include "mailroom.hpp"
#include "options.hpp"
#include "peers.hpp"
#include "shared_arenas.hpp"
#include "wire.hpp"
#include "worker.hpp"

namespace baleen::ucx {

using namespace sdk;

class Neighbours;

class UcxTransport : public Transport {
 public:
  static constexpr bool kRegisters = true, kAllocatesToo = true;

  static Result<std::unique_ptr<UcxTransport>> create(const Host& host, const Settings& settings,
                                                      const Rendezvous& rendezvous, baleen_transport_flags_t flags);
  ~UcxTransport() override;

  Result<void*> allocate(std::uint64_t bytes) override;
  void release(void* base) override;
  Status register_arena(void* base, std::uint64_t bytes) override;
  void unregister_arena(void* base) override { device_arenas_->remove(base); }
  baleen_operations_t takes_operations(std::string_view memory) const override;
  static baleen_operations_t would_take_operations(const Host& host, const Settings& settings, std::string_view memory);
  Status use(void* device, const baleen_compute_t* compute, const baleen_native_events_t* events) override;
  void leave() override;
  const void* query(std::string_view name) override;
  Result<void*> group_create(std::vector<std::int32_t> ranks) override;
  void group_destroy(void* group) override;
  Result<void*> prepare(void* group, const baleen_collective_spec_t& spec) override;
  Status start(void* slot, baleen_event_t* after, std::uint64_t after_value, baleen_event_t* done,
               std::uint64_t done_value) override;
  Status check() override { return failure_.status(); }
  void abort(std::string_view reason) override;

 private:
  UcxTransport(const Host& host, Options options, std::unique_ptr<Wire> wire, std::int32_t rank, std::int32_t ranks);
  void hear(const NoteHeader& header, std::string_view bytes);
  void choose_memory(const Neighbours& neighbours);
  struct Met {
    std::vector<Proposal> proposals;  // in the order of those present
    bool on_device = false;           // some member's buffers lie in a device's memory
  };
  Result<Met> meet(const Proposal& mine, bool on_device = false);
  Result<DirectAccess> meet_neighbours(const Group& group, const Proposal& mine, const Program& program);

  const Host host_;
  const Options options_;
  std::unique_ptr<Wire> wire_;
  // A checksum is compared before a message is used, and RDMA lays messages down itself.
  const bool adds_on_arrival_;
  std::uint64_t brief_bytes_;  // of messages, where an operation may be run within `start`
  Peers peers_;
  std::unique_ptr<SharedArenas> arenas_;
  std::unique_ptr<DeviceArenas> device_arenas_;
  bool takes_cuda_ = false;       // the same on all ranks
  std::string why_not_;           // where some rank's UCX would
  bool tells_of_memory_ = false;  // once
  mutable std::once_flag told_of_memory_;
  baleen_transport_native_t native_{};
  std::vector<bool> near_;  // ranks that are asked to read this one's arenas and are read; or empty
  Mailroom mailroom_;
  FirstFailure failure_;
  Scratch scratch_;  // of collectives
  std::uint64_t next_group_ = 0;
  std::vector<std::unique_ptr<Group>> groups_;
  std::unique_ptr<Worker> worker_;
};

}  // namespace baleen::ucx
