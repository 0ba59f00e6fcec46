/// \file A transport on the ranks of a mesh: its groups, and what all ranks do together.
#pragma once
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "baleen/collective.hpp"
#include "baleen/open_transport.hpp"
#include "compiler/layout/mesh.hpp"
#include "core/execute/collectives_under_way.hpp"
#include "core/plugin/plugin.hpp"

namespace baleen {

/// A value of an event's.
struct EventValue {
  baleen_event_t* event;
  std::uint64_t value;
};

/// Collectives that are replayed with a sequence of the device.
struct KeptCalls {
  void* capture = nullptr;   ///< the transport's
  std::vector<void*> slots;  ///< in the order of their starts
  std::string text;          ///< for who is told where a rank stands
  bool was_entered = false;
};

/// What one rank needs to talk to the others. Not copyable. Outlives the programs and arenas made on it.
class Communicator {
 public:
  struct Options {
    /// Sums are alike in every run, whatever the transport and its algorithm.
    bool deterministic = true;
    /// Told the number of each collective that this rank begins, from 1.
    std::function<void(std::int64_t number)> begins = {};
    /// Told the name of each program that this rank runs; "" at the end of the script.
    std::function<void(const std::string& program)> runs = {};
    /// The host of each rank, as an index; empty: all share one.
    std::vector<int> hosts = {};
  };

  /// `transport` joins the ranks of the mesh; this one is `rank`.
  static Result<std::unique_ptr<Communicator>> create(std::unique_ptr<OpenTransport> transport, std::int64_t rank,
                                                      Mesh mesh, Options options);
  /// Collective over all ranks of the mesh: connects them through `rendezvous`, whose rank is this one's.
  static Result<std::unique_ptr<Communicator>> create(Plugin plugin, const baleen_settings_t& settings,
                                                      const baleen_rendezvous_t& rendezvous, Mesh mesh,
                                                      Options options);
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  std::int64_t rank() const { return rank_; }
  std::int64_t ranks() const { return rank_count(mesh_); }
  const Mesh& mesh() const { return mesh_; }
  /// This rank's coordinates.
  const Coordinates& at() const { return at_; }
  /// The host of each rank, as an index from 0; as long as `ranks()`.
  const std::vector<int>& hosts() const { return hosts_; }

  /// Collective over the group of this rank along `axes` (names of the mesh), which is made when it is first asked for:
  /// all ranks ask in one order. `meet` is for ranks that have no collective along these axes but take part in making
  /// the group.
  Status meet(const std::vector<std::string>& axes);
  /// Says itself whether it is deterministic.
  Result<void*> prepare(const std::vector<std::string>& axes, CollectiveArgs collective);
  Status start(void* slot, baleen_event_t* after, std::uint64_t after_value, baleen_event_t* done,
               std::uint64_t done_value) {
    if (keeping_)
      keeping_->slots.push_back(slot);
    else if (begins_)
      tell_begin(slot, after, after_value, done, done_value);
    return transport_->start(slot, after, after_value, done, done_value);
  }
  /// Whether it is told which collectives this rank stands in.
  bool is_watched() const { return begins_ != nullptr; }
  /// This rank waits, once `since` has reached `since_value`, for a send or receive. (A rank may go on for long while
  /// one is under way, but not while the others' part of another collective is missing.)
  void awaits(void* slot, const baleen_event_t& since, std::uint64_t since_value, const baleen_event_t& done,
              std::uint64_t done_value);
  /// The collective that this rank stands in: "all_reduce of script.lua:5 (w), number 2 of `step`"; "" where it has
  /// none to wait for. [any thread]
  std::string stands_in() { return under_way_.running(); }
  /// Events of what has begun are about to go.
  void forget_begun() { under_way_.forget(); }
  /// The next run begins `own` collectives, which are counted as `as`: as many on all ranks, though their own differ
  /// (in a pipeline). So ranks can be compared at any time: by the part of the run that they have begun. 0: as they
  /// are.
  void counts(std::int64_t own, std::int64_t as) {
    if (run_.as > 0) begun_ = run_.before + run_.as;
    run_ = {begun_, own, as, 0};
  }
  /// This rank begins to run a program, as all do. "": it is at the end of the script.
  void runs(const std::string& program) const {
    if (runs_) runs_(program);
  }
  /// Collective over all ranks, once and before any other call.
  Status prepare_end();
  /// Waits until all ranks have come to the end of the script. Where one is still within it and waits for the others,
  /// all fail with the names of both places.
  Status meet_at_end();
  /// OK, or why an operation failed.
  Status check() { return transport_->check(); }
  /// Lets the transport work on streams of the device's, where both can.
  Result<Lease> lease(void* device, const baleen_compute_t& table) { return transport_->lease(device, table); }

  // Collectives within sequences of the device (captured.h), in that order.

  /// Whether the transport takes part in them, on all ranks.
  bool keeps_calls() const { return transport_->captures(); }
  /// What is started between the two is kept; what `end_keeping` returns lives until `release`.
  Status begin_keeping();
  Result<KeptCalls*> end_keeping();
  /// Collective over all ranks: whether what they have kept may be replayed.
  Result<bool> agree_on(const std::vector<KeptCalls*>& kept);
  /// A replay is about to be enqueued: once a stream has come to `from`, it waits for `rests` and replays; `done` as
  /// `replayed` gets it.
  Status enter(KeptCalls& kept, EventValue from, EventValue rests, EventValue done);
  Status replayed(KeptCalls& kept, EventValue after, EventValue done);
  void release(KeptCalls* kept);
  /// `lets_go` is called before anything is ended, so that no sequence holds what the transport ends; null: it need not
  /// be any more. `owner`: whose it is.
  void before_end(const void* owner, std::function<void()> lets_go);

  /// Ends every operation that a failure left unfinished and all groups with their slots: afterwards nothing touches
  /// the events and the memory of programs any more.
  void settle();
  /// Wakes all blocked calls of this rank with BALEEN_PEER_LOST. [any thread]
  void abort(const std::string& reason) { transport_->abort(reason); }

  /// Whether it has memory of its own for arenas.
  bool allocates() const { return transport_->allocates(); }
  Result<void*> allocate(std::uint64_t bytes) { return transport_->allocate(bytes); }
  void release(void* base) { transport_->release(base); }
  /// Memory of its own on the device that a lease has handed over; UNSUPPORTED where it has none.
  Result<void*> allocate_on_device(std::uint64_t bytes) { return transport_->allocate_on_device(bytes); }
  void release_on_device(void* base) { transport_->release_on_device(base); }
  bool registers() const { return transport_->registers(); }
  /// Which collectives also work in a device's memory of this kind.
  baleen_operations_t takes_operations(std::string_view memory) const { return transport_->takes_operations(memory); }
  Status add_arena(void* base, std::uint64_t bytes) { return transport_->register_arena(base, bytes); }
  void remove_arena(void* base) { transport_->unregister_arena(base); }

 private:
  Communicator(std::unique_ptr<OpenTransport> transport, Mesh mesh, std::int64_t rank);
  Result<void*> group_along(const std::vector<std::string>& axes);
  void tell_begin(void* slot, const baleen_event_t* after, std::uint64_t after_value, const baleen_event_t* done,
                  std::uint64_t done_value);

  /// Of the collective that begins, from 1.
  std::int64_t count() {
    if (run_.as == 0 || run_.own == 0) return ++begun_;
    run_.begun = std::min(run_.begun + 1, run_.own);
    return begun_ = run_.before + run_.begun * run_.as / run_.own;
  }

  std::unique_ptr<OpenTransport> transport_;
  Mesh mesh_;
  std::int64_t rank_;
  Coordinates at_;
  std::vector<int> hosts_;
  bool deterministic_ = true;
  std::map<std::vector<std::int64_t>, void*> groups_;
  struct Named {
    std::string text;
    bool is_pairwise;
  };
  std::unordered_map<void*, Named> slots_;  ///< where they are watched
  std::unique_ptr<KeptCalls> keeping_;
  std::map<KeptCalls*, std::unique_ptr<KeptCalls>> kept_;
  std::map<const void*, std::function<void()>> lets_go_;
  CollectivesUnderWay under_way_;
  std::function<void(std::int64_t)> begins_;
  std::function<void(const std::string&)> runs_;
  std::int64_t begun_ = 0;
  struct Run {
    std::int64_t before = 0;  ///< begun before it
    std::int64_t own = 0, as = 0, begun = 0;
  } run_;
  void* end_ = nullptr;  ///< the slot of a barrier
};

}  // namespace baleen
