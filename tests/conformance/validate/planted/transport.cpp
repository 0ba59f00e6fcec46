/// \file A sound, slow transport through files of the current folder, done within `start`, which the option `defect`
/// makes wrong.
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <csignal>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "baleen/dtype.hpp"
#include "baleen/event.hpp"
#include "baleen/half.hpp"
#include "baleen/plugin.hpp"
#include "baleen/rendezvous.hpp"
#include "baleen/transport.h"

BALEEN_DESCRIPTOR("transport", "planted", "1.0.0", "Apache-2.0", "Wrong on request", -1, "",
                  BALEEN_OPTION("defect", BALEEN_OPTION_STRING, 0, 1, 0, "", "", "", "what is wrong"));

namespace {

using namespace baleen;

constexpr std::size_t kRoom = 4 << 20;

/// What the members of a group share.
struct Region {
  std::atomic<int> arrived, generation;
  std::array<std::uint64_t, 8> counts;
  std::array<std::array<unsigned char, kRoom>, 8> inputs;

  void meet(int members) {
    const int now = generation;
    if (arrived.fetch_add(1) + 1 == members) {
      arrived = 0;
      ++generation;
    } else {
      while (generation == now) sched_yield();
    }
  }
};

struct Planted {
  Host host;
  std::string defect, name, aborted;
  std::int32_t rank, ranks;
  int groups = 0;

  bool is(std::string_view word) const { return defect == word; }
};

struct Group {
  Planted* owner;
  std::vector<std::int32_t> ranks;
  int place;
  Region* region;

  int members() const { return static_cast<int>(ranks.size()); }
};

struct Slot {
  Group* group;
  baleen_collective_spec_t spec;
  std::vector<baleen_collective_entry_t> entries;
  std::vector<std::int32_t> destinations;

  std::size_t width() const { return dtype_size(spec.dtype); }
  /// Bytes of the tensors before one, which lie before it in what the members share.
  std::size_t offset(std::size_t entry) const {
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < entry; ++i) bytes += entries[i].count * width();
    return bytes;
  }
};

/// The sum of `count` members from the `first` on: a balanced tree, or one after the other. `at`: bytes before the
/// number.
template <class T, class Load>
T reduce(const Slot& slot, std::size_t at, int first, int count, const Load& load) {
  const Planted& owner = *slot.group->owner;
  const auto of = [&](int member) {
    return load(slot.group->region->inputs[static_cast<std::size_t>(member)].data() + at);
  };
  const auto both = [&](T a, T b) {
    if (slot.spec.reduction == BALEEN_SUM) return static_cast<T>(a + b);
    const bool is_nan = std::isnan(static_cast<double>(a));
    if (is_nan && owner.is("drops_nan")) return b;
    return is_nan || b < a ? a : b;
  };
  if (owner.is("forgets_a_member") && count == slot.group->members() && count > 1) --count;
  if (owner.is("another_order")) {
    T all = of(first + count - 1);
    for (int member = first + count - 2; member >= first; --member) all = both(all, of(member));
    return all;
  }
  if (count == 1) return of(first);
  const int left = (count + 1) / 2;
  return both(reduce<T>(slot, at, first, left, load), reduce<T>(slot, at, first + left, count - left, load));
}

/// `Kept` is what lies in memory of a number that is reduced as a `T`.
template <class T, class Kept>
void reduce_all(const Slot& slot, void* output, std::size_t from, std::size_t count, T (*decode)(Kept),
                Kept (*encode)(T)) {
  const auto load = [&](const unsigned char* at) {
    Kept kept;
    std::memcpy(&kept, at, sizeof kept);
    return decode(kept);
  };
  for (std::size_t i = 0; i < count; ++i) {
    const Kept value = encode(reduce<T>(slot, from + i * sizeof(Kept), 0, slot.group->members(), load));
    std::memcpy(static_cast<unsigned char*>(output) + i * sizeof(Kept), &value, sizeof value);
  }
}

template <class T>
T same(T number) {
  return number;
}

/// `from`: bytes before the first number.
void reduce_into(const Slot& slot, void* output, std::size_t from, std::size_t count) {
  const bool as_integers = slot.group->owner->is("adds_bits");
  switch (slot.spec.dtype) {
    case BALEEN_F64: return reduce_all<double, double>(slot, output, from, count, &same, &same);
    case BALEEN_I32: return reduce_all<std::int32_t, std::int32_t>(slot, output, from, count, &same, &same);
    case BALEEN_BF16:
    case BALEEN_F16:
      if (as_integers) return reduce_all<std::uint16_t, std::uint16_t>(slot, output, from, count, &same, &same);
      if (slot.spec.dtype == BALEEN_F16)
        return reduce_all<float, std::uint16_t>(slot, output, from, count, &from_fp16, &to_fp16);
      return reduce_all<float, std::uint16_t>(slot, output, from, count, &from_bf16, &to_bf16);
    default: return reduce_all<float, float>(slot, output, from, count, &same, &same);
  }
}

void finish(const Slot& slot, std::size_t number) {
  const Group& group = *slot.group;
  const std::size_t width = slot.width(), offset = slot.offset(number);
  const baleen_collective_entry_t& entry = slot.entries[number];
  const std::size_t block = entry.block, own = static_cast<std::size_t>(group.place) * block;
  auto* const out = static_cast<unsigned char*>(entry.output);
  const auto input = [&](std::size_t member) { return group.region->inputs[member].data() + offset; };
  const auto block_of = [&](std::size_t member) {
    const std::size_t begin = std::min<std::size_t>(entry.count, member * block);
    return std::min<std::size_t>(entry.count, begin + block) - begin;
  };
  switch (slot.spec.op) {
    case BALEEN_ALL_REDUCE: reduce_into(slot, out, offset, entry.count); break;
    case BALEEN_REDUCE_SCATTER:
      reduce_into(slot, out, offset + own * width, block_of(static_cast<std::size_t>(group.place)));
      break;
    case BALEEN_REDUCE:
      if (group.place == slot.spec.root) reduce_into(slot, out, offset, entry.count);
      break;
    case BALEEN_ALL_GATHER:
      for (std::size_t m = 0; m < group.ranks.size(); ++m)
        if (block_of(m) > 0) std::memcpy(out + m * block * width, input(m), block_of(m) * width);
      break;
    case BALEEN_BROADCAST:
      if (out && entry.count > 0)
        std::memcpy(out, input(static_cast<std::size_t>(slot.spec.root)), entry.count * width);
      break;
    case BALEEN_ALL_TO_ALL:
      for (std::size_t m = 0; m < group.ranks.size() && block > 0; ++m)
        std::memcpy(out + m * block * width, input(m) + own * width, block * width);
      break;
    case BALEEN_PERMUTE:
      for (std::size_t m = 0; m < group.ranks.size() && entry.count > 0; ++m)
        if (slot.destinations[m] == group.place) std::memcpy(out, input(m), entry.count * width);
      break;
    case BALEEN_RECEIVE:
      if (entry.count > 0) std::memcpy(out, input(static_cast<std::size_t>(slot.spec.root)), entry.count * width);
      break;
    default: break;
  }
  if (group.owner->is("one_too_many") && out) out[entry.count * width] = 0;
}

std::size_t input_bytes(const Slot& slot, const baleen_collective_entry_t& entry) {
  const Group& group = *slot.group;
  const bool is_of_root = slot.spec.op == BALEEN_BROADCAST || slot.spec.op == BALEEN_RECEIVE;
  if (!entry.input || (is_of_root && (slot.spec.op == BALEEN_RECEIVE || group.place != slot.spec.root))) return 0;
  if (slot.spec.op != BALEEN_ALL_GATHER) return entry.count * slot.width();
  const std::size_t begin = std::min<std::size_t>(entry.count, static_cast<std::size_t>(group.place) * entry.block);
  return (std::min<std::size_t>(entry.count, begin + entry.block) - begin) * slot.width();
}

baleen_status_t create(const baleen_host_t* host, const baleen_settings_t* settings,
                       const baleen_rendezvous_t* rendezvous, baleen_transport_flags_t, void** out) {
  return guard(Host(host), [&]() -> Status {
    const Rendezvous meeting(rendezvous);
    if (meeting.rank() == 0) meeting.put("name", "planted-" + std::to_string(::getpid()));
    *out = new Planted{Host(host),          std::string(Settings(settings).text("defect")),
                       meeting.get("name"), {},
                       meeting.rank(),      meeting.ranks()};
    return {};
  });
}

baleen_status_t group_create(void* self, const std::int32_t* ranks, std::uint64_t count, void** out) {
  auto& owner = *static_cast<Planted*>(self);
  auto made = std::make_unique<Group>(Group{&owner, {ranks, ranks + count}, 0, nullptr});
  while (made->ranks[static_cast<std::size_t>(made->place)] != owner.rank) ++made->place;
  if (owner.is("dies") && owner.rank == 1) std::raise(SIGSEGV);
  std::string name = owner.name + "-" + std::to_string(owner.groups++);
  for (const std::int32_t rank : made->ranks) name += "-" + std::to_string(rank);
  const int file = ::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0 || ::ftruncate(file, sizeof(Region)) != 0) return owner.host.fail(BALEEN_IO, "no file to share");
  made->region = static_cast<Region*>(::mmap(nullptr, sizeof(Region), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
  ::close(file);
  made->region->meet(made->members());
  if (made->place == 0) ::unlink(name.c_str());
  *out = made.release();
  return BALEEN_OK;
}

baleen_status_t prepare(void* self, void* given, const baleen_collective_spec_t* spec, void** out) {
  auto& owner = *static_cast<Planted*>(self);
  auto& group = *static_cast<Group*>(given);
  auto slot = std::make_unique<Slot>(Slot{&group, *spec, {}, {}});
  slot->entries.assign(spec->entries, spec->entries + spec->entry_count);
  const std::uint64_t elements = slot->offset(slot->entries.size()) / std::max<std::size_t>(slot->width(), 1);
  if (spec->destinations) slot->destinations.assign(spec->destinations, spec->destinations + group.ranks.size());
  Region& region = *group.region;
  region.counts[static_cast<std::size_t>(group.place)] = elements;
  region.meet(group.members());
  bool agrees = true;
  for (std::size_t m = 0; m < group.ranks.size(); ++m) agrees = agrees && region.counts[m] == elements;
  region.meet(group.members());
  if (!agrees && !owner.is("takes_anything")) return owner.host.fail(BALEEN_INVALID, "members give other counts");
  *out = slot.release();
  return BALEEN_OK;
}

baleen_status_t start(void* self, void* given, baleen_event_t*, std::uint64_t, baleen_event_t* done,
                      std::uint64_t value) {
  const auto& owner = *static_cast<Planted*>(self);
  const Slot& slot = *static_cast<Slot*>(given);
  Group& group = *slot.group;
  const std::size_t tensors =
      owner.is("first_tensor_alone") ? std::min<std::size_t>(slot.entries.size(), 1) : slot.entries.size();
  for (std::size_t i = 0; i < tensors; ++i) {
    const baleen_collective_entry_t& entry = slot.entries[i];
    const std::size_t bytes = input_bytes(slot, entry);
    if (owner.is("clears_output") && slot.spec.op == BALEEN_ALL_REDUCE && entry.output)
      std::memset(entry.output, 0, entry.count * slot.width());
    if (bytes == 0) continue;
    std::memcpy(group.region->inputs[static_cast<std::size_t>(group.place)].data() + slot.offset(i), entry.input,
                bytes);
    if (owner.is("spoils_inputs")) *static_cast<unsigned char*>(const_cast<void*>(entry.input)) ^= 1;
  }
  if (owner.is("waits_for_ever") && owner.rank == 1)
    for (;;) ::pause();
  group.region->meet(group.members());
  for (std::size_t i = 0; i < tensors; ++i) finish(slot, i);
  group.region->meet(group.members());
  if (done && !owner.is("signals_nothing")) event_signal(*done, value);
  return BALEEN_OK;
}

baleen_status_t check(void* self) {
  const auto& owner = *static_cast<Planted*>(self);
  if (owner.aborted.empty() || owner.is("deaf")) return BALEEN_OK;
  return owner.host.fail(BALEEN_PEER_LOST, owner.aborted);
}

baleen_transport_t planted_table() {
  baleen_transport_t table{};
  table.create = &create;
  table.destroy = [](void* self) { delete static_cast<Planted*>(self); };
  table.allocate = [](void* self, std::uint64_t bytes, void** base) -> baleen_status_t {
    *base = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (static_cast<Planted*>(self)->is("dirty_memory")) std::memset(*base, 1, 8);
    if (static_cast<Planted*>(self)->is("off_page")) *base = static_cast<char*>(*base) + 64;
    return BALEEN_OK;
  };
  table.release = [](void*, void*) {};
  table.group_create = &group_create;
  table.group_destroy = [](void*, void* group) { delete static_cast<Group*>(group); };
  table.prepare = &prepare;
  table.start = &start;
  table.check = &check;
  table.abort = [](void* self, baleen_string_t reason) { static_cast<Planted*>(self)->aborted = view(reason); };
  return table;
}

}  // namespace

BALEEN_EXPORT_TABLE(planted_table());
