/// \file The offload stores of a rank as one: slots are numbered through, and each lies in one of the stores.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/execute/offload_store.hpp"

namespace baleen {

/// Owns the stores, and the pinned memory of the host that transfers of a device with memory of its own pass through.
/// It outlives the runs of programs that use it; the memory of what is moved outlives it. [one thread]
class OffloadStores {
 public:
  /// By their numbers in `reserve`; null where none of the slots lies. All are direct, or none is.
  explicit OffloadStores(std::vector<std::unique_ptr<OffloadStore>> stores) : stores_(std::move(stores)) {}
  ~OffloadStores();
  OffloadStores(const OffloadStores&) = delete;
  OffloadStores& operator=(const OffloadStores&) = delete;

  /// Once: slot i lies in store `stores[i]`. NO_MEMORY where a place has too little room.
  Status reserve(const std::vector<OutsideSlot>& slots, std::span<const std::uint32_t> stores);
  /// Takes so many pinned bytes of the host. The device outlives this.
  Status pin(const Device& device, std::uint64_t bytes);
  /// Where a slot lies, to be used in place; null where its store was not asked to map its slots.
  std::byte* memory(std::uint32_t slot) const { return stores_[places_[slot].store]->memory(places_[slot].slot); }
  /// Null where there are none.
  std::byte* pinned() const { return pinned_; }
  /// Whether transfers are copies of the device, which nothing on the host waits for.
  bool is_direct() const;
  /// Begins a put or get. Allocates nothing.
  Status start(bool is_put, const OffloadStore::Part& part, const OffloadStore::Events& events);
  /// The first failure of any that was begun, of the nearest store that has one.
  Status check() const;

  /// Bytes of a slot from `from` on, waited for. The slot has `bytes`.
  Status read(std::uint32_t slot, std::uint64_t bytes, std::uint64_t from, std::span<std::byte> to);
  /// The whole of a slot, waited for.
  Status write(std::uint32_t slot, std::span<const std::byte> from);

 private:
  struct Place {
    std::uint32_t store = 0, slot = 0;  ///< its number there
  };

  std::vector<std::unique_ptr<OffloadStore>> stores_;
  std::vector<Place> places_;  ///< by slot
  const Device* device_ = nullptr;
  std::byte* pinned_ = nullptr;
  std::uint64_t pinned_bytes_ = 0;
};

}  // namespace baleen
