/// \file The transport of one rank.
#pragma once
#include <map>
#include <memory>
#include <set>
#include <thread>

#include "attendance.hpp"
#include "baleen/proposal.hpp"
#include "baleen/transport.hpp"
#include "ballot.hpp"
#include "barriers.hpp"
#include "engine.hpp"
#include "known_memory.hpp"
#include "lane.hpp"
#include "letter.hpp"
#include "options.hpp"
#include "switchboard.hpp"
#include "tile_kernels.hpp"

namespace baleen::nccl {

/// Members, in the order of ranks, with their communicator once all have a device.
struct Group {
  std::string key;
  std::vector<std::int32_t> ranks;
  std::size_t place = 0;
  Comm comm = nullptr;
  std::vector<std::unique_ptr<Slot>> slots = {};
};

/// Collectives of a sequence that the device keeps.
struct Capture {
  struct Start {
    const Slot* slot;
    std::uint64_t number;  ///< among the starts of its group, of the one outside that follows
  };
  std::vector<Start> starts;
};

class NcclTransport : public Transport {
 public:
  static constexpr bool kRegisters = true, kHasDeviceMemory = true, kCaptures = true;
  static constexpr std::string_view kNativeRuntime = "cuda";

  static Result<std::unique_ptr<NcclTransport>> create(const Host& host, const Settings& settings,
                                                       const Rendezvous& rendezvous, baleen_transport_flags_t);
  ~NcclTransport() override;

  Status register_arena(void* base, std::uint64_t bytes) override;
  void unregister_arena(void* base) override;
  Result<void*> allocate_on_device(std::uint64_t bytes) override;
  void release_on_device(void* base) override;
  Result<void*> group_create(std::vector<std::int32_t> ranks) override;
  void group_destroy(void* group) override;
  Result<void*> prepare(void* group, const baleen_collective_spec_t& spec) override;
  Status start(void* slot, baleen_event_t* after, std::uint64_t after_value, baleen_event_t* done,
               std::uint64_t done_value) override;
  Status check() override { return engine_.failure.status(); }
  void abort(std::string_view reason) override { fail({BALEEN_PEER_LOST, std::string(reason), {}}, false); }
  bool takes(std::string_view memory) const override { return memory == "cuda"; }
  static bool would_take(const Host&, const Settings&, std::string_view memory) { return memory == "cuda"; }
  Status use(void* device, const baleen_compute_t* compute, const baleen_native_events_t* events) override;
  void leave() override;
  bool captures() const override { return options_.graphs; }
  Status begin_capture() override;
  Result<void*> end_capture() override;
  Result<bool> agree_on(const std::vector<void*>& captures) override;
  Status enter(void* capture, baleen_event_t* rests, std::uint64_t rests_value) override;
  Status replayed(void* capture, baleen_event_t* after, std::uint64_t after_value, baleen_event_t* done,
                  std::uint64_t done_value) override;
  void release_capture(void* capture) override;

 private:
  /// One direction between two ranks: what waits there holds up nothing else.
  struct Pair {
    std::string key;
    Comm comm = nullptr;
    std::unique_ptr<Lane> lane = {};
  };

  NcclTransport(const Host& host, Options options) : host_(host), options_(std::move(options)) {}

  // transport.cpp
  void fail(Error error, bool tell);
  void fail_in_vain(Error error, bool tell);
  void hear(const Frame& frame);
  Status heard_gone(std::int32_t rank);
  Status hub_has_left() const;
  void ask_nccl();
  void watch();
  void tear_down();
  void each_lane(const std::function<void(Lane&)>& body);
  void abort_all(const std::list<KnownMemory>& comms);
  std::uint64_t unfinished() const;
  void let_finish() const;
  void end_unfinished(const std::string& why);
  Status make_room();
  Status begin_on(Lane& lane, const std::function<Status()>& begin);

  // capture.cpp
  Status start_captured(const Slot& slot, baleen_event_t* after, std::uint64_t after_value, baleen_event_t* done,
                        std::uint64_t done_value);
  Result<Outcome> count_ballots(Ballot mine);

  // prepare.cpp
  Result<Verdict> meet(const sdk::Proposal& mine, bool needs_communicator, const std::string& layout = {});
  Result<std::string> letter_of(std::int32_t rank);
  Result<Verdict> judge(const sdk::Proposal& mine, bool needs_communicator, const std::string& layout);
  Result<Comm> make_communicator(const UniqueId& id, std::size_t place, std::size_t members);
  Result<Pair*> pair_of(const sdk::Proposal& mine);
  Status make_program(Slot& slot);
  EntryPlaces place_entry(Slot& slot, const CollectiveEntry& entry) const;
  Status introduce(const Slot& slot);
  std::string refusal_of(const Collective& c) const;
  bool is_ordered(const Collective& c) const;

  // arenas.cpp
  KnownMemory* known_to(Comm comm);
  void tell_once(bool& told, baleen_level_t level, const std::string& text) const;
  void register_with(KnownMemory& known);
  void free_memory(std::byte* base);
  void free_all_memory();
  bool is_on_device(const void* at, std::uint64_t bytes) const;
  std::string layout_of(const Group& group, const sdk::Proposal& mine);
  Status await_rest() const;
  Status share_windows(const Group& group, const Collective& c, bool alike);

  const Host host_;
  const Options options_;
  Engine engine_;
  std::unique_ptr<Attendance> attendance_;
  std::unique_ptr<Switchboard> switchboard_;
  std::unique_ptr<Barriers> barriers_;
  Arenas arenas_;
  std::list<KnownMemory> comms_;
  std::vector<std::unique_ptr<Group>> groups_;
  std::unique_ptr<TileKernels> kernels_;
  mutable std::mutex lanes_;  // which there are; taken after the engine's `calls`
  std::unique_ptr<Lane> lane_, setup_;
  std::map<std::pair<std::int32_t, bool>, Pair> pairs_;  // by the other rank, and whether this one sends
  std::map<Comm, std::pair<std::set<int>, std::set<int>>> introduced_;
  std::uint64_t group_count_ = 0;
  std::unique_ptr<Capture> capturing_;  // between `begin_capture` and `end_capture`
  std::list<Capture> captures_;
  bool told_of_registration_ = false, told_of_memory_ = false, told_of_windows_ = false;
  std::atomic<bool> hub_left_{false};
  baleen_event_t torn_down_{sizeof(baleen_event_t), 0, 0, nullptr};
  std::thread watcher_;
};

}  // namespace baleen::nccl
