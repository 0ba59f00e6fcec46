/// \file What every offload backend must do: what was put is what is got, in the order of starts, and all is given
/// back.
#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "baleen/host.hpp"
#include "frontend/validate/cases.hpp"
#include "frontend/validate/offload_store.hpp"
#include "frontend/validate/remains.hpp"

namespace baleen::validate {
namespace {

constexpr std::uint64_t kBytes = 300'007;  // of no page

void describes(const Subject& subject, Mark& mark) {
  Store store(subject, mark);
  const baleen_offload_info_t info = store.info();
  const auto is_power = [](std::uint64_t number) { return number != 0 && (number & (number - 1)) == 0; };
  if (!is_power(info.alignment) || info.alignment < 64 || info.alignment > 65536)
    throw Failure("its alignment is " + std::to_string(info.alignment) + "; it must be a power of two, 64 to 65536");
  if (!is_power(info.memory_alignment)) throw Failure("its alignment of memory is no power of two");
  if (info.in_use != 0 || info.slots != 0) throw Failure("a new store says that it holds something");
  if (info.capacity == 0) throw Failure("its capacity is 0");
  if (((info.flags & BALEEN_OFFLOAD_MAPPED) != 0) != (store.table().map != nullptr))
    throw Failure("its flag MAPPED says something else than its table, which has " +
                  std::string(store.table().map ? "a" : "no") + " `map`");
  if (info.flags & BALEEN_OFFLOAD_PINNED) throw Failure("says that memory is pinned where nobody pins");
  store.reserve({1, info.alignment + 1, 0});
  const baleen_offload_info_t after = store.info();
  if (after.slots != 3) throw Failure("counts " + std::to_string(after.slots) + " slots of 3");
  if (after.in_use != 3 * info.alignment)
    throw Failure("says that slots of 1, alignment + 1 and 0 bytes take " + std::to_string(after.in_use) + " bytes; " +
                  "each is to be rounded up to the alignment: " + std::to_string(3 * info.alignment));
  unsigned char small[sizeof(baleen_offload_info_t)];
  std::fill(std::begin(small), std::end(small), 0xa5);
  auto* const begin = reinterpret_cast<baleen_offload_info_t*>(small);
  constexpr std::size_t kTold = 24;
  begin->size = kTold;
  store.plugin().ok("`describe`", store.table().describe, store.get(), begin);
  if (std::any_of(small + kTold, std::end(small), [](unsigned char byte) { return byte != 0xa5; }))
    throw Failure("`describe` writes more than `info.size` says");
}

void begins_with_zeros(const Subject& subject, Mark& mark) {
  Store store(subject, mark);
  store.reserve({kBytes, 10});
  for (const std::uint32_t slot : {0u, 1u}) {
    GuardedBytes bytes(slot == 0 ? kBytes : 10);
    bytes.fill(1);
    store.read(slot, 0, bytes.size(), bytes.data());
    if (!bytes.is_zero()) throw Failure("a slot that was never put does not read as zeros");
  }
}

/// Random parts of slots of many sizes, against the same in memory.
void gives_back_what_was_put(const Subject& subject, Mark& mark) {
  Store store(subject, mark);
  std::mt19937_64 random(1);
  const std::uint64_t block = store.alignment();
  const std::vector<std::uint64_t> sizes = {0,          1,         block - 1, block, block + 1, 3 * block + 5,
                                            10 * block, 1'000'003, 70'001};
  store.reserve({sizes.begin(), sizes.begin() + 4});
  store.reserve({sizes.begin() + 4, sizes.end()});
  std::vector<std::vector<unsigned char>> model;
  for (const std::uint64_t size : sizes) model.emplace_back(size);
  for (int turn = 0; turn < 400; ++turn) {
    const bool is_last = turn >= 390;  // then all of each slot
    const auto slot = static_cast<std::uint32_t>(is_last ? turn - 391 + 0u : random() % sizes.size());
    if (slot >= sizes.size()) continue;
    const std::uint64_t size = sizes[slot];
    const std::uint64_t offset = size == 0 || is_last ? 0 : random() % size / block * block;
    const bool to_end = is_last || random() % 3 == 0;
    const std::uint64_t bytes = to_end ? size - offset : random() % (size - offset + 1) / block * block;
    GuardedBytes memory(bytes, random() % 2 == 0);
    const auto there = model[slot].begin() + static_cast<std::ptrdiff_t>(offset);
    const std::string where = bytes_text(slot, offset, bytes) + ", of " + std::to_string(size);
    if (!is_last && random() % 2 == 0) {
      memory.fill(static_cast<std::uint64_t>(turn) + 1);
      std::copy_n(memory.data(), bytes, there);
      store.put(slot, offset, bytes, memory.data());
    } else {
      store.read(slot, offset, bytes, memory.data());
      if (!std::equal(memory.data(), memory.data() + bytes, there))
        throw Failure("`get` gives other bytes than were put: " + where);
    }
    if (!memory.is_alone()) throw Failure("an operation writes beside the memory that it was given: " + where);
  }
}

void keeps_many_apart(const Subject& subject, Mark& mark) {
  constexpr std::uint32_t kSlots = 24;
  std::vector<GuardedBytes> put(kSlots, GuardedBytes(kBytes)), got(kSlots, GuardedBytes(kBytes));
  std::vector<baleen_event_t> events(kSlots, baleen_event_t{sizeof(baleen_event_t), 0, 0, nullptr});
  Store store(subject, mark, {0, kSlots, nullptr});
  store.reserve(std::vector<std::uint64_t>(kSlots, kBytes));
  std::vector<std::uint32_t> order;
  for (std::uint32_t slot = 0; slot < kSlots; ++slot) order.push_back(slot);
  std::mt19937_64 random(2);
  for (std::uint64_t turn = 0; turn < 4; ++turn) {
    for (const bool is_put : {true, false}) {
      const std::uint64_t value = 2 * turn + (is_put ? 1 : 2);
      std::shuffle(order.begin(), order.end(), random);
      for (const std::uint32_t slot : order) {
        if (is_put) put[slot].fill(turn * kSlots + slot + 1);
        unsigned char* const memory = is_put ? put[slot].data() : got[slot].data();
        store.start(is_put, Store::transfer(slot, 0, kBytes, memory, &events[slot], value));
      }
      for (const std::uint32_t slot : order) store.await(events[slot], slot, value);
    }
    for (std::uint32_t slot = 0; slot < kSlots; ++slot)
      if (!got[slot].holds(turn * kSlots + slot + 1))
        throw Failure("with " + std::to_string(kSlots) + " operations under way slot " + std::to_string(slot) +
                      " gives other bytes than were put");
  }
}

/// Puts and gets of the same bytes, all started before any is waited for.
void keeps_the_order_of_starts(const Subject& subject, Mark& mark) {
  constexpr std::size_t kTurns = 10;
  std::vector<GuardedBytes> put(kTurns, GuardedBytes(kBytes)), got(kTurns, GuardedBytes(kBytes));
  std::vector<baleen_event_t> events(2 * kTurns, baleen_event_t{sizeof(baleen_event_t), 0, 0, nullptr});
  Store store(subject, mark);
  store.reserve({kBytes});
  for (std::size_t i = 0; i < kTurns; ++i) {
    put[i].fill(i + 1);
    store.start(true, Store::transfer(0, 0, kBytes, put[i].data(), &events[2 * i]));
    store.start(false, Store::transfer(0, 0, kBytes, got[i].data(), &events[2 * i + 1]));
  }
  for (baleen_event_t& event : events) store.await(event, 0);
  for (std::size_t i = 0; i < kTurns; ++i)
    if (!got[i].holds(i + 1))
      throw Failure("a `get` does not give what the `put` that was started just before it has written");
}

void begins_after_its_event(const Subject& subject, Mark& mark) {
  GuardedBytes first(kBytes), second(kBytes), got(kBytes);
  baleen_event_t after{}, late{}, reader{};
  Store store(subject, mark);
  store.reserve({kBytes, kBytes});
  baleen_offload_transfer_t waiting = Store::transfer(0, 0, kBytes, first.data(), &late, 7);
  waiting.after = &after;
  waiting.after_value = 5;
  first.fill(1);
  second.fill(2);
  store.start(true, waiting);
  store.start(false, Store::transfer(0, 0, kBytes, got.data(), &reader));
  store.put(1, 0, kBytes, second.data());  // a store that holds it up hangs here
  event_signal(after, 4);
  const timespec nap{0, 20'000'000};
  ::nanosleep(&nap, nullptr);
  if (event_value(late) != 0) throw Failure("a `put` does not wait until its `after` has reached `after_value`");
  if (event_value(reader) != 0)
    throw Failure("a `get` overtakes an earlier `put` of the same bytes, which waits for its `after`");
  first.fill(3);
  event_signal(after, 5);
  store.await(late, 0, 7);
  store.await(reader, 0);
  if (!got.holds(3)) throw Failure("reads the memory of a `put` before its `after` has reached `after_value`");
}

void raises_events(const Subject& subject, Mark& mark) {
  GuardedBytes memory(10), got(10);
  memory.fill(4);
  baleen_event_t done{}, after{};
  Store store(subject, mark);
  store.reserve({0, 10});
  store.start(true, Store::transfer(0, 0, 0, nullptr, &done, 3));
  store.await(done, 0, 3);
  baleen_offload_transfer_t waiting = Store::transfer(1, 10, 0, nullptr, &done, 4);
  waiting.after = &after;
  waiting.after_value = 1;
  store.start(false, waiting);
  event_signal(after, 1);
  store.await(done, 1, 4);
  store.start(true, Store::transfer(1, 0, 10, memory.data(), nullptr));  // nobody waits
  store.read(1, 0, 10, got.data());
  if (!got.holds(4)) throw Failure("a `put` without `done` is not done before a later `get` of its bytes");
}

void reports_failures(const Subject& subject, Mark& mark) {
  GuardedBytes memory(kBytes), got(kBytes);
  memory.fill(5);
  baleen_event_t after{}, done{}, read{};
  Store store(subject, mark);
  store.reserve({kBytes, kBytes});
  store.put(0, 0, kBytes, memory.data());
  baleen_offload_transfer_t waiting = Store::transfer(0, 0, kBytes, memory.data(), &done);
  waiting.after = &after;
  waiting.after_value = 1;
  store.start(true, waiting);
  event_signal(after, BALEEN_EVENT_FAILED);
  store.plugin().call("the wait for an operation whose `after` has failed",
                      [&] { event_wait(done, BALEEN_EVENT_FAILED); });
  for (const std::uint32_t slot : {0u, BALEEN_OFFLOAD_ANY}) {
    const baleen_status_t status = store.plugin().call("`check`", store.table().check, store.get(), slot);
    if (status == BALEEN_OK) throw Failure("`check` returns OK though an operation of this slot has failed");
    store.plugin().refusal("`check`", status);
  }
  if (store.plugin().call("`check`", store.table().check, store.get(), std::uint32_t{1}) != BALEEN_OK)
    throw Failure("`check` of a slot tells of a failure of another slot");
  if (store.info().flags & BALEEN_OFFLOAD_CHECKED) {
    store.start(false, Store::transfer(0, 0, kBytes, got.data(), &read));
    store.plugin().call("the wait for slot 0", [&] { event_wait(read, 1); });
    if (event_value(read) != BALEEN_EVENT_FAILED)
      throw Failure("says that it is CHECKED, and gives out bytes of a `put` that failed");
  }
  store.put(0, 0, kBytes, memory.data());  // others go on
  store.read(0, 0, kBytes, got.data());
  if (!got.holds(5)) throw Failure("a `put` after one that failed does not mend the slot");
}

void refuses_wrong_ranges(const Subject& subject, Mark& mark) {
  GuardedBytes memory(0);
  baleen_event_t done{}, after{}, ends[3]{};
  Store store(subject, mark, {0, 2, nullptr});
  const std::uint64_t block = store.alignment(), size = 4 * block + 3;
  store.reserve({size});
  memory = GuardedBytes(size + block);
  const auto at = [&](std::uint32_t slot, std::uint64_t offset, std::uint64_t bytes) {
    return Store::transfer(slot, offset, bytes, memory.data(), &done);
  };
  const std::pair<const char*, baleen_offload_transfer_t> wrong[] = {
      {"a slot that is not there", at(1, 0, block)},
      {"an offset that is no multiple of the alignment", at(0, 1, block)},
      {"bytes that are no multiple of the alignment and end within the slot", at(0, 0, block - 1)},
      {"bytes beyond the end of the slot", at(0, 0, size + 1)},
      {"an offset and bytes whose sum is more than 2^64", at(0, ~std::uint64_t{0} - block + 1, 2 * block)}};
  for (const auto& [what, transfer] : wrong)
    for (const bool is_put : {true, false}) {
      const char* const name = is_put ? "`put`" : "`get`";
      const baleen_status_t status = store.try_start(is_put, transfer);
      if (status != BALEEN_INVALID)
        throw Failure(std::string(name) + " of " + what + " returns " + std::to_string(status) + " and not INVALID");
      store.plugin().refusal(name, status);
    }
  for (std::size_t i = 0; i < 3; ++i) {
    baleen_offload_transfer_t waiting = Store::transfer(0, 0, block, memory.data(), &ends[i]);
    waiting.after = &after;
    waiting.after_value = 1;
    const baleen_status_t status = store.try_start(true, waiting);
    if (status != (i < 2 ? BALEEN_OK : BALEEN_INVALID))
      throw Failure("made for 2 unfinished operations, it answers number " + std::to_string(i + 1) + " with " +
                    std::to_string(status));
  }
  event_signal(after, 1);
  for (std::size_t i = 0; i < 2; ++i) store.await(ends[i], 0);
  if (event_value(done) != 0 || event_value(ends[2]) != 0) throw Failure("raises the event of what it has refused");
  if (store.plugin().call("`check`", store.table().check, store.get(), BALEEN_OFFLOAD_ANY) != BALEEN_OK)
    throw Failure("`check` takes what was refused for a failed operation");
}

void keeps_to_its_budget(const Subject& subject, Mark& mark) {
  constexpr std::uint64_t kBudget = 1u << 20;
  Store store(subject, mark, {kBudget, 4, nullptr});
  if (store.info().capacity != kBudget)
    throw Failure("its capacity is " + std::to_string(store.info().capacity) + " where the budget is " +
                  std::to_string(kBudget));
  const baleen_status_t status = store.try_reserve({kBudget, 1});
  if (status != BALEEN_NO_MEMORY)
    throw Failure("`reserve` of more than the budget returns " + std::to_string(status) + " and not NO_MEMORY");
  store.plugin().refusal("`reserve`", status);
  if (store.info().slots != 0 || store.info().in_use != 0)
    throw Failure("a `reserve` that fails leaves some of its slots");
  store.reserve({kBudget - 1});
  if (store.try_reserve({1}) != BALEEN_NO_MEMORY) throw Failure("its budget is full, and it reserves one byte more");
  GuardedBytes memory(kBudget - 1), got(kBudget - 1);
  memory.fill(6);
  store.put(0, 0, kBudget - 1, memory.data());
  store.read(0, 0, kBudget - 1, got.data());
  if (!got.holds(6)) throw Failure("a slot that fills the budget gives other bytes than were put");
}

void ends_what_waits(const Subject& subject, Mark& mark) {
  baleen_event_t after{}, waits{}, behind{}, works[2]{};
  std::vector<GuardedBytes> memory(4, GuardedBytes(kBytes));
  Store store(subject, mark);
  store.reserve({kBytes, kBytes});
  baleen_offload_transfer_t waiting = Store::transfer(0, 0, kBytes, memory[0].data(), &waits);
  waiting.after = &after;
  waiting.after_value = 1;
  store.start(true, waiting);
  store.start(false, Store::transfer(0, 0, kBytes, memory[1].data(), &behind));
  for (std::size_t i = 0; i < 2; ++i) store.start(true, Store::transfer(1, 0, kBytes, memory[2 + i].data(), &works[i]));
  store.destroy();
  if (event_value(waits) != BALEEN_EVENT_FAILED || event_value(behind) != BALEEN_EVENT_FAILED)
    throw Failure("`destroy` does not fail an operation that waits for its `after`");
  for (const baleen_event_t& event : works)
    if (event_value(event) == 0) throw Failure("`destroy` returns before an operation is over");
}

void leaves_nothing(const Subject& subject, Mark& mark) {
  const auto live = [&] {
    Store store(subject, mark);
    store.reserve({kBytes});
    GuardedBytes memory(kBytes);
    store.put(0, 0, kBytes, memory.data());
    return Remains::now();
  };
  live();  // what the first use makes for good is no leak
  const Remains before = Remains::now();
  Remains within;
  for (int i = 0; i < 8; ++i) within = live();
  const std::string left = Remains::now().beyond(before, within);
  if (!left.empty()) throw Failure("after `destroy` of eight stores there is left " + left);
}

void is_reached_in_place(const Subject& subject, Mark& mark) {
  Store store(subject, mark);
  if (!store.table().map) throw Skip("it has no `map`");
  store.reserve({5000, kBytes});
  void* base = nullptr;
  store.plugin().ok("`map`", store.table().map, store.get(), std::uint32_t{1}, &base);
  if (!base) throw Failure("`map` returns OK and gives no memory");
  if (reinterpret_cast<std::uintptr_t>(base) % store.info().memory_alignment != 0)
    throw Failure("`map` gives memory that is not aligned to `memory_alignment`");
  auto* const bytes = static_cast<unsigned char*>(base);
  GuardedBytes memory(kBytes);
  memory.fill(8);
  store.put(1, 0, kBytes, memory.data());
  if (!std::equal(bytes, bytes + kBytes, memory.data())) throw Failure("what is put is not seen in the mapped slot");
  bytes[777] ^= 0xff;
  const unsigned char changed = bytes[777];
  store.put(1, 0, kBytes, bytes);  // onto itself
  store.read(1, 0, kBytes, memory.data());
  if (memory.data()[777] != changed) throw Failure("`get` does not see what was written to the mapped slot");
  GuardedBytes beside(5000);
  store.read(0, 0, 5000, beside.data());
  if (!beside.is_zero()) throw Failure("what is written to a mapped slot changes another");
  const baleen_status_t status = store.plugin().call("`map`", store.table().map, store.get(), std::uint32_t{2}, &base);
  if (status == BALEEN_OK) throw Failure("`map` of a slot that is not there returns OK");
  store.plugin().refusal("`map`", status);
}

struct Pins {
  std::vector<std::pair<void*, std::uint64_t>> held;
  bool is_wrong = false;

  static baleen_status_t pin(void* self, void* base, std::uint64_t bytes) {
    static_cast<Pins*>(self)->held.emplace_back(base, bytes);
    return BALEEN_OK;
  }
  static void unpin(void* self, void* base) {
    auto& pins = *static_cast<Pins*>(self);
    if (std::erase_if(pins.held, [&](const auto& one) { return one.first == base; }) != 1) pins.is_wrong = true;
  }
};

void pins_what_is_mapped(const Subject& subject, Mark& mark) {
  Pins pins;
  const baleen_offload_pinning_t table = {sizeof table, &pins, &Pins::pin, &Pins::unpin};
  Store store(subject, mark, {0, 4, &table});
  if (!store.table().map) throw Skip("it has no `map`");
  store.reserve({kBytes});
  void* base = nullptr;
  store.plugin().ok("`map`", store.table().map, store.get(), std::uint32_t{0}, &base);
  const bool holds = std::ranges::any_of(pins.held, [&](const auto& one) {
    return one.first <= base && static_cast<char*>(base) + kBytes <= static_cast<char*>(one.first) + one.second;
  });
  if (((store.info().flags & BALEEN_OFFLOAD_PINNED) != 0) != holds)
    throw Failure(holds ? "pins what is mapped and does not say PINNED" : "says PINNED, and a mapped slot is not");
  store.destroy();
  if (pins.is_wrong) throw Failure("unpins what it has not pinned");
  if (!pins.held.empty()) throw Failure("after `destroy` memory is still pinned");
}

void measures(const Subject& subject, Mark& mark) {
  Store store(subject, mark, {4u << 20, 8, nullptr});
  store.reserve({kBytes});
  GuardedBytes memory(kBytes), got(kBytes);
  memory.fill(9);
  store.put(0, 0, kBytes, memory.data());
  const baleen_offload_info_t before = store.info();
  baleen_offload_speed_t speed{};
  speed.size = sizeof speed;
  store.plugin().ok("`measure`", store.table().measure, store.get(), 0.05, &speed);
  for (const double number :
       {speed.put_bytes_per_second, speed.get_bytes_per_second, speed.put_seconds, speed.get_seconds})
    if (!std::isfinite(number) || number <= 0) throw Failure("`measure` gives a number that is not above 0");
  const baleen_offload_info_t after = store.info();
  if (after.slots != before.slots || after.in_use != before.in_use)
    throw Failure("`measure` does not give back its room");
  store.read(0, 0, kBytes, got.data());
  if (!got.holds(9)) throw Failure("`measure` changes what a slot holds");
}

void keeps_stores_apart(const Subject& subject, Mark& mark) {
  Store first(subject, mark), second(subject, mark);
  GuardedBytes one(kBytes), two(kBytes), got(kBytes);
  one.fill(10);
  two.fill(11);
  first.reserve({kBytes});
  second.reserve({kBytes});
  first.put(0, 0, kBytes, one.data());
  second.put(0, 0, kBytes, two.data());
  first.read(0, 0, kBytes, got.data());
  if (!got.holds(10)) throw Failure("a second store changes what the first one holds");
  first.destroy();
  second.read(0, 0, kBytes, got.data());
  if (!got.holds(11)) throw Failure("the end of one store changes what another holds");
}

}  // namespace

std::vector<Case> offload_cases() {
  return {
      {"offload.describe", "says what it is and holds, in numbers that fit together", &describes},
      {"offload.zeros", "a slot reads as zeros until its first put", &begins_with_zeros},
      {"offload.contents", "any part of a slot of any size gives the bytes that were put", &gives_back_what_was_put},
      {"offload.many", "the same with many operations under way in any order", &keeps_many_apart},
      {"offload.order", "an operation sees what earlier ones on its bytes have done", &keeps_the_order_of_starts},
      {"offload.after", "waits for `after`, and holds up nothing but operations on the same bytes",
       &begins_after_its_event},
      {"offload.events", "raises `done` to its value, also where there are no bytes", &raises_events},
      {"offload.failures", "what fails raises `done` to FAILED, `check` says why, others go on", &reports_failures},
      {"offload.refusals", "refuses wrong slots and ranges and too many operations, and begins nothing then",
       &refuses_wrong_ranges},
      {"offload.budget", "reserves no more than its budget, all or none", &keeps_to_its_budget},
      {"offload.destroy", "`destroy` ends what has begun and fails what waits", &ends_what_waits},
      {"offload.leaves_nothing", "leaves no descriptor, file, thread or mapping behind", &leaves_nothing},
      {"offload.map", "a mapped slot is the slot itself", &is_reached_in_place},
      {"offload.pinning", "pins what is mapped, and unpins all of it", &pins_what_is_mapped},
      {"offload.measure", "measures its speed, and changes nothing by it", &measures},
      {"offload.two_stores", "stores do not share bytes", &keeps_stores_apart},
  };
}

}  // namespace baleen::validate
