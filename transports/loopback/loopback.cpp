/// \file N ranks as threads of one process: the reference transport. Each rank has a worker that brings its operations,
/// in order, to the hub, where the last to come computes.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <thread>

#include "baleen/event.hpp"
#include "baleen/started.hpp"
#include "baleen/transport.hpp"
#include "hub.hpp"

BALEEN_DESCRIPTOR("transport", "loopback", "1.0.0", "Apache-2.0",
                  "ranks as threads of one process: the reference, for tests", -1, "", BALEEN_NO_OPTIONS);

namespace baleen::loopback {

using namespace sdk;

namespace {

struct Group {
  std::vector<std::int32_t> ranks;
  std::uint64_t number = 0;
  std::uint64_t begun = 0;                          // collectives; the worker counts
  std::uint64_t slot_count = 0;                     // of collectives
  std::map<std::size_t, std::uint64_t> pair_count;  // slots shared with that member alone
  std::deque<Slot> slots;                           // addresses stay
};

// A started operation, waiting for the worker.
struct Started : StartedEvents {
  Slot* slot = nullptr;
};

class Loopback : public Transport {
 public:
  static Result<std::unique_ptr<Loopback>> create(const Host&, const Settings&, const Rendezvous& rendezvous,
                                                  baleen_transport_flags_t) {
    // The hub's address travels, with the process it means something in.
    const std::string process = std::to_string(getpid());
    Hub* hub = nullptr;
    if (rendezvous.rank() == 0) {
      hub = new Hub(rendezvous.ranks());
      rendezvous.put("loopback", process + " " + std::to_string(reinterpret_cast<std::uintptr_t>(hub)));
    } else {
      const std::string text = rendezvous.get("loopback");
      const std::size_t space = text.find(' ');
      if (text.substr(0, space) != process)
        return unsupported("the loopback joins threads of one process, but rank 0 is process " + text.substr(0, space) +
                           " and rank " + std::to_string(rendezvous.rank()) + " is process " + process +
                           "; name another [transport] plugin");
      std::uintptr_t address = 0;
      std::from_chars(text.data() + space + 1, text.data() + text.size(), address);
      hub = reinterpret_cast<Hub*>(address);
    }
    return std::unique_ptr<Loopback>(new Loopback(*hub, rendezvous.rank(), rendezvous.ranks()));
  }

  ~Loopback() override {
    fail(Error{BALEEN_PEER_LOST, "its transport was destroyed", {}});
    {
      std::lock_guard lock(mutex_);
      leaving_ = true;
    }
    ring();
    worker_.join();
    hub_.leave(rank_);
    for (const auto& [base, bytes] : arenas_) munmap(base, bytes);
    if (hub_.forget()) delete &hub_;
  }

  Result<void*> allocate(std::uint64_t bytes) override {
    const std::uint64_t size = std::max<std::uint64_t>(bytes, 1);
    void* base = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED)
      return Error{BALEEN_NO_MEMORY, "the system refuses " + std::to_string(bytes) + " bytes for an arena", {}};
    arenas_.emplace(base, size);
    return base;
  }
  void release(void* base) override {
    if (const auto found = arenas_.find(base); found != arenas_.end()) {
      munmap(base, found->second);
      arenas_.erase(found);
    }
  }

  Result<void*> group_create(std::vector<std::int32_t> ranks) override {
    BALEEN_TRY(check());
    BALEEN_TRY_ASSIGN(const Proposal mine,
                      propose(rank_, ranks_, std::move(ranks), (std::uint64_t{1} << 32) * rank_ + groups_made_));
    auto group = std::make_unique<Group>();
    group->ranks = mine.ranks;
    BALEEN_TRY_ASSIGN(group->number, hub_.meet(mine));
    ++groups_made_;
    groups_.push_back(std::move(group));
    return static_cast<void*>(groups_.back().get());
  }
  void group_destroy(void* group) override {
    settle();
    std::erase_if(groups_, [&](const auto& mine) { return mine.get() == group; });
  }

  Result<void*> prepare(void* handle, const baleen_collective_spec_t& spec) override {
    BALEEN_TRY(check());
    Group& group = *static_cast<Group*>(handle);
    BALEEN_TRY_ASSIGN(Proposal mine, propose(rank_, group.ranks, spec));
    BALEEN_TRY(hub_.meet(mine));
    Slot& slot = group.slots.emplace_back(Slot{*std::move(mine.collective), group.ranks, group.number});
    const bool pair = is_pairwise(slot.collective.op);
    slot.number = pair ? group.pair_count[slot.collective.root]++ : group.slot_count++;
    slot.begun = pair ? &slot.runs : &group.begun;
    return static_cast<void*>(&slot);
  }

  Status start(void* slot, baleen_event_t* after, std::uint64_t after_value, baleen_event_t* done,
               std::uint64_t done_value) override {
    {
      std::lock_guard lock(mutex_);
      if (failed_) return failure_;
      if (unfinished_ == BALEEN_MAX_OUTSTANDING)
        return internal(std::to_string(unfinished_) + " operations are unfinished; wait for some before starting more");
      ++unfinished_;
      queue_[tail_++ % queue_.size()] = {{after, after_value, done, done_value}, static_cast<Slot*>(slot)};
    }
    ring();
    return {};
  }

  Status check() override {
    std::lock_guard lock(mutex_);
    if (failed_) return failure_;
    return {};
  }

  void abort(std::string_view reason) override { fail(Error{BALEEN_PEER_LOST, std::string(reason), {}}); }

 private:
  Loopback(Hub& hub, std::int32_t rank, std::int32_t ranks) : hub_(hub), rank_(rank), ranks_(ranks) {
    worker_ = std::thread([this] { work(); });
  }

  // The worker has something to look at.
  void ring() { event_signal(bell_, event_value(bell_) + 1); }

  // Until nothing is unfinished; what is, fails first.
  void settle() {
    const auto unfinished = [&] {
      std::lock_guard lock(mutex_);
      return unfinished_ > 0;
    };
    if (!unfinished()) return;
    fail(internal("a group was destroyed while operations of this rank were unfinished"));
    while (unfinished()) std::this_thread::yield();
  }

  // The first failure is kept; everything unfinished fails with it.
  void fail(const Error& error) {
    {
      std::lock_guard lock(mutex_);
      if (failed_) return;
      failed_ = true;
      failure_ = error;
    }
    ring();
    hub_.withdraw(rank_, error);
  }

  void finish(const Started& started, const Status& outcome) {
    if (!outcome) fail(outcome.error());
    {
      std::lock_guard lock(mutex_);
      --unfinished_;
    }
    started.raise(!outcome);  // who waits for it may destroy the group at once
  }

  // The next operation, or none: then the transport goes.
  std::optional<Started> take() {
    while (true) {
      const std::uint64_t seen = event_value(bell_);
      {
        std::lock_guard lock(mutex_);
        if (head_ != tail_) return queue_[head_++ % queue_.size()];
        if (leaving_) return {};
      }
      event_wait(bell_, seen + 1);
    }
  }

  // Until the event has reached the value, or the transport has failed.
  void await(baleen_event_t& event, std::uint64_t value) {
    while (true) {
      const std::uint64_t bell = event_prepare_sleep(bell_), word = event_prepare_sleep(event);
      if (word >> 1 >= value || !check()) return;
      event_sleep(event, word, bell_, bell, nullptr);
    }
  }

  void work() {
    while (const std::optional<Started> started = take()) {
      Slot& slot = *started->slot;
      if (!started->may_begin()) await(*started->after, started->after_value);
      if (const Status status = check(); !status) {
        finish(*started, status);
        continue;
      }
      hub_.post({&slot, (*slot.begun)++, [this, started](const Status& outcome) { finish(*started, outcome); }});
    }
  }

  Hub& hub_;
  const std::int32_t rank_, ranks_;
  std::uint64_t groups_made_ = 0;
  std::vector<std::unique_ptr<Group>> groups_;
  std::map<void*, std::uint64_t> arenas_;

  std::mutex mutex_;
  std::array<Started, BALEEN_MAX_OUTSTANDING> queue_;
  std::uint64_t head_ = 0, tail_ = 0;
  std::size_t unfinished_ = 0;
  bool failed_ = false, leaving_ = false;
  Error failure_;

  baleen_event_t bell_{};
  std::thread worker_;
};

}  // namespace
}  // namespace baleen::loopback

BALEEN_TRANSPORT(baleen::loopback::Loopback);
