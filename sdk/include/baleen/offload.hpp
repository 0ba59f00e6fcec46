/// \file An offload store as a C++ class: derive from OffloadStore, then `BALEEN_OFFLOAD(Mine)`.
#pragma once
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "baleen/failure.hpp"
#include "baleen/offload_queue.hpp"
#include "baleen/offload_slots.hpp"
#include "baleen/plugin.hpp"

namespace baleen::sdk {

/// What a store is made for, checked; defaults filled in.
struct OffloadSpec {
  std::uint64_t budget = 0;
  std::uint32_t outstanding = 1;
  const baleen_offload_pinning_t* pinning = nullptr;
  std::string who;

  static Result<OffloadSpec> from(const baleen_offload_spec_t* given) {
    const baleen_offload_spec_t spec = copy_in(given);
    if (spec.size == 0) return no_size("baleen_offload_spec_t");
    if (spec.outstanding < 1 || spec.outstanding > BALEEN_OFFLOAD_MAX_OUTSTANDING)
      return invalid("an offload store for " + std::to_string(spec.outstanding) +
                     " operations at a time: it must be 1 to " + std::to_string(BALEEN_OFFLOAD_MAX_OUTSTANDING));
    return OffloadSpec{spec.budget, spec.outstanding, spec.pinning, std::string(view(spec.who))};
  }
};

/// What a member says of itself.
struct OffloadTraits {
  std::uint64_t alignment = 64, memory_alignment = 64;
  std::uint64_t room = 0;  ///< bytes that the place has; the capacity where there is no budget
  std::string place;       ///< "memory", a folder: for messages
};

/// Base of a member. It checks what is asked for and keeps slots, operations and failures; the member moves bytes. A
/// member also has `static Result<std::unique_ptr<Member>> create(const Host&, const Settings&, OffloadSpec)`. Its
/// destructor stops its workers: it sets `closing`, and they `fail` what `next_waiting` gives and end what has begun.
class OffloadStore {
 public:
  /// A member that sets this true has `map`.
  static constexpr bool kMaps = false;

  OffloadStore(OffloadSpec spec, OffloadTraits traits)
      : spec_(std::move(spec)), traits_(std::move(traits)), slots_(traits_.alignment), queue_(spec_.outstanding) {}
  virtual ~OffloadStore() = default;

  Status reserve(const baleen_offload_slot_t* slots, std::uint64_t count);
  Status start(const baleen_offload_transfer_t* transfer, bool is_put);
  Status check(std::uint32_t slot) const;
  Status describe(baleen_offload_info_t* info) const;
  Result<void*> mapped(std::uint32_t slot);
  Status measure(double seconds, baleen_offload_speed_t* speed);
  virtual const void* query(std::string_view name) {
    (void)name;
    return nullptr;
  }

 protected:
  const OffloadSpec& spec() const { return spec_; }
  const OffloadSlots& slots() const { return slots_; }
  OffloadQueue& queue() { return queue_; }

  /// Takes room for all bytes of the store up to `end`, those from `begin` on being new; they read as zeros.
  virtual Status extend(std::uint64_t begin, std::uint64_t end) = 0;
  /// Gives back the bytes from `begin` on, which were the last to be taken. [no operation is unfinished]
  virtual void give_back(std::uint64_t begin) = 0;
  virtual baleen_offload_flags_t flags() const = 0;
  /// Bytes of the host's memory that the store takes besides slots.
  virtual std::uint64_t overhead() const = 0;
  /// Where the byte lies in memory; only where kMaps.
  virtual void* address(std::uint64_t begin) {
    (void)begin;
    return nullptr;
  }
  /// Whether the caller is to `run` this one itself, where it may begin at once: it is over sooner than a worker is
  /// awake.
  virtual bool is_short(const baleen_offload_transfer_t& transfer) const {
    (void)transfer;
    return false;
  }
  /// Does it and ends it. [calling thread]
  virtual void run(OffloadOperation& operation) { finish(operation); }

  /// A put of these bytes failed, so no get is to give them out, where the member is CHECKED. [whoever calls `fail`]
  virtual void spoil(const baleen_offload_transfer_t& transfer) { (void)transfer; }

  /// Ends an operation. [worker]
  void finish(OffloadOperation& operation) { queue_.finish(operation, false); }
  /// Ends it by an error, which names it. Where it ends because of its `after`: `fail_after`.
  void fail(OffloadOperation& operation, Error error);
  /// True, and the operation is over, where what it waits for has failed.
  bool fail_after(OffloadOperation& operation);
  /// An error before the operation's description, as all failures of a store begin.
  Error named(const OffloadOperation& operation, Error error) const;

 private:
  std::string prefix() const { return spec_.who.empty() ? "" : spec_.who + ": "; }
  std::uint64_t capacity() const { return spec_.budget ? spec_.budget : traits_.room; }
  Status take(const baleen_offload_slot_t* slots, std::uint64_t count, bool is_budgeted);

  const OffloadSpec spec_;
  const OffloadTraits traits_;
  OffloadSlots slots_;
  OffloadQueue queue_;
  FirstFailure failure_;
  mutable std::mutex failures_mutex_;  // of the next
  std::map<std::uint32_t, Error> failures_;
};

}  // namespace baleen::sdk

#include "baleen/offload_inline.hpp"

/// Exports `Member` (a baleen::sdk::OffloadStore) as this plugin. Once, at global scope, behind BALEEN_DESCRIPTOR.
#define BALEEN_OFFLOAD(Member) BALEEN_EXPORT_TABLE(baleen::sdk::offload_table<Member>())
