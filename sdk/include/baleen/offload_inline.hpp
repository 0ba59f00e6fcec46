/// \file The bodies of offload.hpp, and the C table of a member.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "baleen/offload.hpp"

namespace baleen::sdk {

inline Status OffloadStore::take(const baleen_offload_slot_t* slots, std::uint64_t count, bool is_budgeted) {
  if (const std::uint32_t busy = queue_.unfinished(); busy != 0)
    return invalid(prefix() + std::to_string(busy) +
                   " operations are unfinished; wait for them before reserving slots");
  BALEEN_TRY_ASSIGN(const std::uint64_t end, slots_.end_with(slots, count));
  if (is_budgeted && end > capacity())
    return Error{BALEEN_NO_MEMORY,
                 prefix() + "the slots need " + offload_bytes(end) + " in " + traits_.place + ", of which " +
                     offload_bytes(slots_.end()) + " are taken already, and " +
                     (spec_.budget ? "the budget is " : "there is room for ") + offload_bytes(capacity()) +
                     (spec_.budget ? "; raise the budget, or offload less" : "; make room, or offload less"),
                 {}};
  std::vector<OffloadSlot> made = slots_.make(slots, count);
  if (end != slots_.end()) {
    Status extended = extend(slots_.end(), end);
    if (!extended) return Error{extended.error().code, prefix() + extended.error().message, extended.error().where};
  }
  slots_.add(std::move(made));
  return {};
}

inline Status OffloadStore::reserve(const baleen_offload_slot_t* slots, std::uint64_t count) {
  return take(slots, count, true);
}

inline Status OffloadStore::start(const baleen_offload_transfer_t* given, bool is_put) {
  const baleen_offload_transfer_t transfer = copy_in(given);
  if (transfer.size == 0) return no_size(is_put ? "transfer to put" : "transfer to get");
  BALEEN_TRY(slots_.check(transfer, is_put));
  if (is_short(transfer))
    if (OffloadOperation* const operation = queue_.add_begun(transfer, is_put)) {
      if (!fail_after(*operation)) run(*operation);
      return {};
    }
  if (!queue_.add(transfer, is_put))
    return invalid(std::to_string(queue_.most()) +
                   " operations are unfinished, as many as the store was made for; wait " +
                   "for some before starting more");
  return {};
}

inline Error OffloadStore::named(const OffloadOperation& operation, Error error) const {
  error.message = prefix() + slots_.text(operation.transfer, operation.is_put) + ": " + error.message;
  return error;
}

inline void OffloadStore::fail(OffloadOperation& operation, Error error) {
  error = named(operation, std::move(error));
  if (operation.is_put) spoil(operation.transfer);
  {
    std::lock_guard lock(failures_mutex_);
    failures_.emplace(operation.transfer.slot, error);
  }
  failure_.set(std::move(error));
  queue_.finish(operation, true);
}

inline bool OffloadStore::fail_after(OffloadOperation& operation) {
  const baleen_event_t* const after = operation.transfer.after;
  if (!after || event_value(*after) != BALEEN_EVENT_FAILED) return false;
  fail(operation, {BALEEN_INTERRUPTED, "what it waits for has failed", {}});
  return true;
}

inline Status OffloadStore::check(std::uint32_t slot) const {
  if (slot == BALEEN_OFFLOAD_ANY) return failure_.status();
  std::lock_guard lock(failures_mutex_);
  const auto found = failures_.find(slot);
  return found == failures_.end() ? Status() : found->second;
}

inline Status OffloadStore::describe(baleen_offload_info_t* info) const {
  const baleen_offload_info_t value = {sizeof value, traits_.alignment, traits_.memory_alignment,
                                       capacity(),   slots_.end(),      overhead(),
                                       flags(),      slots_.count()};
  return copy_out(info, value) ? Status() : no_size("baleen_offload_info_t");
}

inline Result<void*> OffloadStore::mapped(std::uint32_t slot) {
  if (slot < slots_.count()) return address(slots_.at(slot).begin);
  return invalid("map of slot " + std::to_string(slot) + ": there are " + std::to_string(slots_.count()) + " slots");
}

namespace detail {

/// Puts and gets of a slot again and again; seconds, or the first failure.
class OffloadStopwatch {
 public:
  OffloadStopwatch(OffloadStore& store, std::uint32_t slot, std::byte* memory)
      : store_(store), slot_(slot), memory_(memory) {}

  static double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }
  /// All of the slot once, in operations of so many bytes, of which some are under way at a time.
  Result<double> pass(bool is_put, std::uint64_t bytes, std::uint64_t piece, std::uint64_t at_a_time) {
    const double begin = now();
    std::uint64_t started = 0;
    for (std::uint64_t at = 0; at < bytes; at += piece, ++started) {
      // Each has an event of its own, for they end in any order.
      baleen_event_t& done = events_[started % at_a_time];
      if (started >= at_a_time) BALEEN_TRY(await(done));
      done = {};
      const baleen_offload_transfer_t transfer = {sizeof transfer, slot_,   0, at,    std::min(piece, bytes - at),
                                                  memory_ + at,    nullptr, 0, &done, 1};
      if (Status begun = store_.start(&transfer, is_put); !begun) {
        for (std::uint64_t i = 0; i < std::min(started, at_a_time); ++i)
          if (i != started % at_a_time) (void)await(events_[i]);
        return begun.error();
      }
    }
    Status all;
    for (std::uint64_t i = 0; i < std::min(started, at_a_time); ++i)
      if (Status one = await(events_[i]); !one) all = one;
    if (!all) return all.error();
    return now() - begin;
  }

 private:
  Status await(baleen_event_t& done) {
    event_wait(done, 1);
    return event_value(done) == BALEEN_EVENT_FAILED ? store_.check(slot_) : Status();
  }
  static constexpr std::size_t kMost = 16;
  OffloadStore& store_;
  std::uint32_t slot_;
  std::byte* memory_;
  baleen_event_t events_[kMost] = {};
};

inline double offload_median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace detail

inline Status OffloadStore::measure(double seconds, baleen_offload_speed_t* speed) {
  if (!(seconds >= 0.05 && seconds <= 60)) return invalid("measure for " + std::to_string(seconds) + " s: 0.05 to 60");
  constexpr std::uint64_t kMost = 64ull << 20, kPiece = 4ull << 20, kPage = 4096;
  // As much again is copied from and to: half of what there is may be anybody's.
  const std::uint64_t bytes = std::clamp(traits_.room / 4 / kPiece * kPiece, kPiece, kMost);
  const baleen_offload_slot_t slot = {sizeof slot, abi("what is measured"), bytes};
  const std::uint64_t begin = slots_.end();
  BALEEN_TRY(take(&slot, 1, false));
  const std::unique_ptr<std::byte, decltype(&std::free)> memory(
      static_cast<std::byte*>(std::aligned_alloc(kPage, bytes)), &std::free);
  const auto run = [&]() -> Status {
    if (!memory) return Error{BALEEN_NO_MEMORY, offload_bytes(bytes) + " of memory to measure with", {}};
    std::memset(memory.get(), 1, bytes);
    detail::OffloadStopwatch watch(*this, slots_.count() - 1, memory.get());
    const std::uint64_t at_a_time = std::min<std::uint64_t>(spec_.outstanding, 8);
    std::vector<double> whole[2], single[2];
    BALEEN_TRY(watch.pass(true, bytes, kPiece, at_a_time));  // the first time may be slower
    for (const double end = watch.now() + seconds; watch.now() < end || whole[1].empty();)
      for (const bool is_put : {true, false}) {
        BALEEN_TRY_ASSIGN(const double passed, watch.pass(is_put, bytes, kPiece, at_a_time));
        whole[is_put ? 0 : 1].push_back(passed);
        for (int i = 0; i < 16; ++i) {
          BALEEN_TRY_ASSIGN(const double one, watch.pass(is_put, traits_.alignment, traits_.alignment, 1));
          single[is_put ? 0 : 1].push_back(one);
        }
      }
    const auto rate = [&](int i) { return static_cast<double>(bytes) / detail::offload_median(whole[i]); };
    const baleen_offload_speed_t found = {sizeof found, rate(0), rate(1), detail::offload_median(single[0]),
                                          detail::offload_median(single[1])};
    return copy_out(speed, found) ? Status() : no_size("baleen_offload_speed_t");
  };
  Status done = run();
  slots_.remove_last();
  give_back(begin);
  return done;
}

/// The C table of a member.
template <class Member>
baleen_offload_t offload_table() {
  using Self = Instance<OffloadStore>;
  baleen_offload_t table{};
  table.create = [](const baleen_host_t* host, const baleen_settings_t* settings, const baleen_offload_spec_t* spec,
                    void** out) {
    return guard(Host(host), [&]() -> Status {
      BALEEN_TRY_ASSIGN(auto checked, OffloadSpec::from(spec));
      BALEEN_TRY_ASSIGN(auto member, Member::create(Host(host), Settings(settings), std::move(checked)));
      return Self::keep(Host(host), std::move(member), out);
    });
  };
  table.destroy = &Self::destroy;
  table.reserve = [](void* self, const baleen_offload_slot_t* slots, std::uint64_t count) {
    return guard(Self::of(self).host, [&] { return Self::of(self).member->reserve(slots, count); });
  };
  table.put = [](void* self, const baleen_offload_transfer_t* transfer) {
    return guard(Self::of(self).host, [&] { return Self::of(self).member->start(transfer, true); });
  };
  table.get = [](void* self, const baleen_offload_transfer_t* transfer) {
    return guard(Self::of(self).host, [&] { return Self::of(self).member->start(transfer, false); });
  };
  table.check = [](void* self, std::uint32_t slot) {
    return guard(Self::of(self).host, [&] { return Self::of(self).member->check(slot); });
  };
  table.describe = [](void* self, baleen_offload_info_t* info) {
    return guard(Self::of(self).host, [&] { return Self::of(self).member->describe(info); });
  };
  table.measure = [](void* self, double seconds, baleen_offload_speed_t* speed) {
    return guard(Self::of(self).host, [&] { return Self::of(self).member->measure(seconds, speed); });
  };
  if constexpr (Member::kMaps)
    table.map = [](void* self, std::uint32_t slot, void** base) {
      return guard(Self::of(self).host, [&]() -> Status {
        BALEEN_TRY_ASSIGN(*base, Self::of(self).member->mapped(slot));
        return {};
      });
    };
  table.query = [](void* self, baleen_string_t name) -> const void* {
    return guard_value(Self::of(self).host, static_cast<const void*>(nullptr),
                       [&]() -> const void* { return Self::of(self).member->query(view(name)); });
  };
  return table;
}

}  // namespace baleen::sdk
