/// \file Which store a slot lies in.
#include "core/execute/offload_stores.hpp"

#include <algorithm>
#include <string>

namespace baleen {

OffloadStores::~OffloadStores() {
  stores_.clear();
  if (pinned_) device_->table().arena_destroy(device_->handle(), BALEEN_ARENA_PINNED, pinned_, pinned_bytes_);
}

Status OffloadStores::reserve(const std::vector<OutsideSlot>& slots, std::span<const std::uint32_t> stores) {
  std::vector<std::vector<OutsideSlot>> of_store(stores_.size());
  for (std::size_t i = 0; i < slots.size(); ++i) {
    std::vector<OutsideSlot>& there = of_store.at(stores[i]);
    places_.push_back({stores[i], static_cast<std::uint32_t>(there.size())});
    there.push_back(slots[i]);
  }
  for (std::size_t i = 0; i < stores_.size(); ++i)
    if (stores_[i]) BALEEN_TRY(stores_[i]->reserve(of_store[i]));
  return {};
}

Status OffloadStores::pin(const Device& device, std::uint64_t bytes) {
  if (bytes == 0) return {};
  void* base = nullptr;
  const Status made = device.check(device.table().arena_create(device.handle(), BALEEN_ARENA_PINNED, bytes, &base));
  if (!made)
    return Error{made.error().code,
                 "what lies in an offload store passes through " + std::to_string(bytes) +
                     " bytes of the host's memory, which has to be pinned: " + made.error().message +
                     ". What would help: values that are got fewer uses ahead, fewer values outside",
                 made.error().where};
  device_ = &device;
  pinned_ = static_cast<std::byte*>(base);
  pinned_bytes_ = bytes;
  return {};
}

bool OffloadStores::is_direct() const {
  return std::ranges::any_of(stores_, [](const auto& store) { return store && store->is_direct(); });
}

Status OffloadStores::start(bool is_put, const OffloadStore::Part& part, const OffloadStore::Events& events) {
  const Place& place = places_[part.slot];
  OffloadStore::Part there = part;
  there.slot = place.slot;
  return stores_[place.store]->start(is_put, there, events);
}

Status OffloadStores::check() const {
  for (const auto& store : stores_)
    if (store) BALEEN_TRY(store->check());
  return {};
}

Status OffloadStores::read(std::uint32_t slot, std::uint64_t bytes, std::uint64_t from, std::span<std::byte> to) {
  const Place& place = places_.at(slot);
  return stores_[place.store]->read(place.slot, bytes, from, to);
}

Status OffloadStores::write(std::uint32_t slot, std::span<const std::byte> from) {
  const Place& place = places_.at(slot);
  return stores_[place.store]->write(place.slot, from);
}

}  // namespace baleen
