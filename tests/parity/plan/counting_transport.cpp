/// \file The transport `shm` with a ledger: what it is given to send, counted on the way by the rules
/// of transport.h, written to a file per rank at the end.
#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "baleen/collective_name.hpp"
#include "baleen/dtype.hpp"
#include "baleen/transport.hpp"

BALEEN_DESCRIPTOR("transport", "counting", "1.0.0", "Apache-2.0", "shm that counts", -1, "",
                  BALEEN_OPTION("ledger", BALEEN_OPTION_STRING, BALEEN_OPTION_REQUIRED, 1, 0, "", "", "",
                                "the file, behind whose name the rank's number is put"));

namespace baleen::test {
namespace {

/// Of the one transport of this process.
struct Ledger {
  baleen_transport_t shm{};
  std::string file;
  std::int32_t rank = 0;
  std::map<std::string, std::uint64_t> bytes;  ///< "all_reduce"
  std::map<void*, std::vector<std::int32_t>> groups;
  struct Slot {
    std::string kind;
    std::uint64_t bytes = 0;
  };
  std::map<void*, Slot> slots;
};

Ledger& ledger() {
  static Ledger one;
  return one;
}

/// What the member at `place` of n sends of one entry.
std::uint64_t sent_bytes(const baleen_collective_spec_t& spec, const baleen_collective_entry_t& e, std::uint64_t place,
                         std::uint64_t n) {
  const std::uint64_t size = dtype_size(spec.dtype), others = n - 1, root = static_cast<std::uint64_t>(spec.root);
  const std::uint64_t begin = std::min(e.count, place * e.block), own = std::min(e.count, begin + e.block) - begin;
  switch (spec.op) {
    case BALEEN_ALL_REDUCE: return 2 * others * e.count * size / n;
    case BALEEN_REDUCE_SCATTER: return (e.count - own) * size;
    case BALEEN_ALL_GATHER: return others * own * size;
    case BALEEN_BROADCAST: return place == root ? others * e.count * size : 0;
    case BALEEN_REDUCE: return place == root ? 0 : e.count * size;
    case BALEEN_PERMUTE: {
      const std::int32_t to = spec.destinations[place];
      return to < 0 || to == static_cast<std::int32_t>(place) ? 0 : e.count * size;
    }
    case BALEEN_SEND: return e.count * size;
    case BALEEN_ALL_TO_ALL: {
      std::uint64_t elements = e.sends ? 0 : others * e.block;
      for (std::uint64_t to = 0; e.sends && to < n; ++to) elements += to == place ? 0 : e.sends[to];
      return elements * size;
    }
    default: return 0;
  }
}

baleen_status_t create(const baleen_host_t* host, const baleen_settings_t* settings,
                       const baleen_rendezvous_t* rendezvous, baleen_transport_flags_t flags, void** out) {
  ledger().file = Settings(settings).text("ledger");
  ledger().rank = rendezvous->rank;
  return ledger().shm.create(host, settings, rendezvous, flags, out);
}

void destroy(void* transport) {
  const Ledger& own = ledger();
  std::ofstream out(own.file + "." + std::to_string(own.rank));
  for (const auto& [name, bytes] : own.bytes) out << name << " " << bytes << "\n";
  own.shm.destroy(transport);
}

baleen_status_t group_create(void* transport, const std::int32_t* ranks, std::uint64_t count, void** group) {
  const baleen_status_t status = ledger().shm.group_create(transport, ranks, count, group);
  if (status == BALEEN_OK) ledger().groups[*group] = {ranks, ranks + count};
  return status;
}

baleen_status_t prepare(void* transport, void* group, const baleen_collective_spec_t* spec, void** slot) {
  const baleen_status_t status = ledger().shm.prepare(transport, group, spec, slot);
  if (status != BALEEN_OK) return status;
  const std::vector<std::int32_t>& ranks = ledger().groups.at(group);
  const auto place = std::find(ranks.begin(), ranks.end(), ledger().rank) - ranks.begin();
  Ledger::Slot& own = ledger().slots[*slot];
  own = {std::string(collective_name(spec->op)), 0};
  for (std::uint64_t i = 0; i < spec->entry_count; ++i)
    own.bytes += sent_bytes(*spec, spec->entries[i], static_cast<std::uint64_t>(place), ranks.size());
  return status;
}

baleen_status_t start(void* transport, void* slot, baleen_event_t* after, std::uint64_t after_value,
                      baleen_event_t* done, std::uint64_t done_value) {
  const Ledger::Slot& own = ledger().slots.at(slot);
  ledger().bytes[own.kind] += own.bytes;
  return ledger().shm.start(transport, slot, after, after_value, done, done_value);
}

}  // namespace
}  // namespace baleen::test

/// The table of `shm`, which lies where the program looks for plugins, with these functions in place of some.
extern "C" BALEEN_EXPORT baleen_status_t baleen_plugin_start(const baleen_host_t* host, void* out) {
  using namespace baleen::test;
  const auto program = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const auto file = program.parent_path() / "lib" / "baleen" / "plugins" / "baleen_transport_shm.so";
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return BALEEN_NOT_FOUND;
  baleen_transport_t& shm = ledger().shm;
  shm.size = sizeof(shm);
  const auto start_shm = reinterpret_cast<baleen_plugin_start_t>(dlsym(library, BALEEN_START_SYMBOL));
  if (const baleen_status_t status = start_shm(host, &shm); status != BALEEN_OK) return status;
  baleen_transport_t table = shm;
  table.create = &create;
  table.destroy = &destroy;
  table.group_create = &group_create;
  table.prepare = &prepare;
  table.start = &start;
  baleen::fill_table(out, table);
  return BALEEN_OK;
}
