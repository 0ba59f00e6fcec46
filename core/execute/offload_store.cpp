/// \file Calls of an offload plugin.
#include "core/execute/offload_store.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "baleen/event.hpp"
#include "baleen/plugin.hpp"
#include "compiler/codegen/memory.hpp"

namespace baleen {
namespace {

/// Bytes that are read at a time where the reader's do not lie as the store's blocks do.
constexpr std::uint64_t kBounce = 4 << 20;

}  // namespace

Result<bool> OffloadStore::maps(const Plugin& plugin) {
  BALEEN_TRY_ASSIGN(const auto* table, plugin.table<baleen_offload_t>("offload"));
  return table->map != nullptr;
}

Result<std::unique_ptr<OffloadStore>> OffloadStore::create(Plugin plugin, const baleen_settings_t& settings,
                                                           const Needs& needs) {
  if (needs.outstanding >= BALEEN_OFFLOAD_MAX_OUTSTANDING)
    return invalid("the program has up to " + std::to_string(needs.outstanding) +
                   " transfers under way at a time, and a store takes " +
                   std::to_string(BALEEN_OFFLOAD_MAX_OUTSTANDING - 1) + "; let values be got fewer uses ahead");
  std::unique_ptr<OffloadStore> made(new OffloadStore(plugin));
  BALEEN_TRY_ASSIGN(made->table_, plugin.table<baleen_offload_t>("offload"));
  baleen_offload_spec_t spec{};
  spec.size = sizeof(spec);
  spec.outstanding = needs.outstanding + 1;  // `read` and `write` may come beside them
  spec.budget = needs.budget;
  spec.who = abi(needs.who);
  made->maps_ = needs.maps;
  if (needs.device) {
    const baleen_device_memory_t& memory = *needs.device->memory();
    made->pinning_ = {sizeof(baleen_offload_pinning_t), needs.device->handle(), memory.pin, memory.unpin};
    spec.pinning = &made->pinning_;
    made->device_ = needs.device;
  }
  BALEEN_TRY(plugin.check(made->table_->create(plugin.host(), &settings, &spec, &made->store_)));
  baleen_offload_info_t info{};
  info.size = sizeof(info);
  BALEEN_TRY(plugin.check(made->table_->describe(made->store_, &info)));
  made->alignment_ = info.alignment;
  made->capacity_ = info.capacity;
  return made;
}

OffloadStore::~OffloadStore() {
  copies_.reset();
  if (store_) table_->destroy(store_);
}

void mark_in_place(const Executable& program, std::vector<OutsideSlot>& slots) {
  for (const AddressSource& source : program.sources)
    if (source.arena == AddressSource::Arena::slot) slots.at(source.slot).is_in_place = true;
}

Status OffloadStore::reserve(const std::vector<OutsideSlot>& slots) {
  std::vector<baleen_offload_slot_t> list;
  for (const OutsideSlot& slot : slots) list.push_back({sizeof(baleen_offload_slot_t), abi(slot.name), slot.bytes});
  BALEEN_TRY(plugin_.check(table_->reserve(store_, list.data(), list.size())));
  if (!pinning_.pin && !maps_) return {};
  bases_.resize(list.size());
  for (std::size_t slot = 0; slot < list.size(); ++slot)
    if (pinning_.pin || slots[slot].is_in_place) BALEEN_TRY(map_slot(slot));
  if (!pinning_.pin) return {};
  BALEEN_TRY_ASSIGN(copies_, DirectCopies::create(*device_, bases_));
  return {};
}

Status OffloadStore::map_slot(std::size_t slot) {
  void* base = nullptr;
  BALEEN_TRY(plugin_.check(table_->map(store_, static_cast<std::uint32_t>(slot), &base)));
  bases_.at(slot) = static_cast<std::byte*>(base);
  return {};
}

Result<baleen_offload_speed_t> OffloadStore::measure(double seconds) {
  baleen_offload_speed_t speed{};
  speed.size = sizeof(speed);
  BALEEN_TRY(plugin_.check(table_->measure(store_, seconds, &speed)));
  return speed;
}

Result<baleen_offload_speed_t> OffloadStore::measure_copies(Device& device, double seconds) {
  constexpr std::uint64_t kLeast = 4 << 20, kMost = 64 << 20;
  const std::uint64_t bytes = std::clamp(capacity_ / 4 / kLeast * kLeast, kLeast, kMost);
  const baleen_offload_slot_t slot{sizeof slot, abi(std::string_view("measured")), bytes};
  BALEEN_TRY(plugin_.check(table_->reserve(store_, &slot, 1)));
  bases_.resize(1);
  BALEEN_TRY(map_slot(0));
  BALEEN_TRY_ASSIGN(copies_, DirectCopies::create(device, bases_));
  BALEEN_TRY_ASSIGN(const Arena arena, Arena::create(device, bytes));
  return copies_->measure(arena.base(), bytes, seconds);
}

Status OffloadStore::start(bool is_put, const Part& part, const Events& events) {
  if (!copies_) return enqueue(is_put, part, events);
  return copies_->start({is_put, part.slot, part.offset, part.bytes, part.memory, events.after, events.after_value,
                         events.done, events.done_value});
}

Status OffloadStore::enqueue(bool is_put, const Part& part, const Events& events) {
  const baleen_offload_transfer_t transfer{
      sizeof(transfer), part.slot,          0,           part.offset,      part.bytes, part.memory,
      events.after,     events.after_value, events.done, events.done_value};
  return plugin_.check((is_put ? table_->put : table_->get)(store_, &transfer));
}

Status OffloadStore::check() const { return plugin_.check(table_->check(store_, BALEEN_OFFLOAD_ANY)); }

Status OffloadStore::wait_for(bool is_put, const Part& part) {
  baleen_event_t done{sizeof done, 0, 0, nullptr};
  BALEEN_TRY(enqueue(is_put, part, {nullptr, 0, &done, 1}));
  event_wait(done, 1);
  return event_value(done) == BALEEN_EVENT_FAILED ? check() : Status();
}

Status OffloadStore::read(std::uint32_t slot, std::uint64_t bytes, std::uint64_t from, std::span<std::byte> to) {
  const std::uint64_t end = from + to.size();
  if (end > bytes) return internal("bytes behind the end of a slot are read");
  std::vector<std::byte> bounce;
  for (std::uint64_t at = from; at < end;) {
    const std::uint64_t begin = at / alignment_ * alignment_;
    const std::uint64_t stop = std::min(bytes, align_up(std::min(end, begin + kBounce), alignment_));
    std::byte* const target = to.data() + (at - from);
    if (begin == at && stop <= end) {
      BALEEN_TRY(wait_for(false, {slot, begin, stop - begin, target}));
    } else {
      bounce.resize(stop - begin);
      BALEEN_TRY(wait_for(false, {slot, begin, stop - begin, bounce.data()}));
      std::memcpy(target, bounce.data() + (at - begin), std::min(stop, end) - at);
    }
    at = std::min(stop, end);
  }
  return {};
}

Status OffloadStore::write(std::uint32_t slot, std::span<const std::byte> from) {
  // A put only reads.
  return wait_for(true, {slot, 0, from.size(), const_cast<std::byte*>(from.data())});
}

}  // namespace baleen
