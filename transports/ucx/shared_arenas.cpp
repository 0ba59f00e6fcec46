/// \file The wire allocates, and tells peers' pointers.
#include "shared_arenas.hpp"

#include <algorithm>

#include "baleen/available_memory.hpp"
#include "log_tap.hpp"

namespace baleen::ucx {

using namespace sdk;

SharedArenas::SharedArenas(const Host& host, Wire& wire, std::int32_t ranks)
    : host_(host), wire_(wire), peers_arenas_(static_cast<std::size_t>(ranks)) {}

SharedArenas::~SharedArenas() {
  for (const auto& arenas : peers_arenas_)
    for (const auto& [number, arena] : arenas) wire_.drop(arena.view);
  for (const auto& [base, arena] : own_) wire_.free(arena.memory);
}

// UCX fills shared memory when it allocates it, so a machine that lacks it must say so first.
Result<void*> SharedArenas::allocate(std::uint64_t bytes) {
  Own arena;
  arena.bytes = std::max<std::uint64_t>(bytes, 1);
  if (const std::uint64_t available = available_memory(); arena.bytes > available)
    return Error{BALEEN_NO_MEMORY,
                 "ucx: an arena of " + std::to_string(bytes) + " bytes: only " + std::to_string(available) +
                     " are available; use fewer ranks or a smaller batch, or give the machine or its container more "
                     "memory",
                 {}};
  const LogTap tap(host_, true);
  BALEEN_TRY_ASSIGN(arena.memory, wire_.allocate(arena.bytes));
  if (!tap.text().empty())  // of the first way to allocate; another one did
    host_.log(BALEEN_WARNING, "ucx: other ranks of this host cannot reach an arena of " + std::to_string(bytes) +
                                  " bytes (UCX says: " + tap.text() +
                                  "): what lies in it is copied on its way; give /dev/shm more room, or leave tls out");
  arena.key = wire_.key_of(arena.memory);
  arena.number = next_++;
  std::byte* const base = arena.memory.base;
  own_.emplace(base, std::move(arena));
  return static_cast<void*>(base);
}

void SharedArenas::release(void* base) {
  const auto found = own_.find(static_cast<const std::byte*>(base));
  if (found == own_.end()) return;
  wire_.free(found->second.memory);
  own_.erase(found);
}

std::optional<SharedArenas::Place> SharedArenas::locate(const void* data, std::uint64_t bytes) const {
  const auto* const begin = static_cast<const std::byte*>(data);
  auto after = own_.upper_bound(begin);
  if (after == own_.begin()) return std::nullopt;
  const auto& [base, arena] = *--after;
  const auto offset = static_cast<std::uint64_t>(begin - base);
  if (offset > arena.bytes || bytes > arena.bytes - offset || arena.key.empty()) return std::nullopt;
  return Place{arena.number, offset};
}

void SharedArenas::tell(ProposalWriter& letter) const {
  letter.list(own_, [&](const auto& entry) {
    const auto& [base, arena] = entry;
    letter.number(arena.number);
    letter.number(reinterpret_cast<std::uintptr_t>(base));
    letter.number(arena.bytes);
    letter.text(arena.key);
  });
}

void SharedArenas::hear(std::int32_t rank, ProposalReader& letter) {
  struct Told {
    std::uint64_t number = 0, address = 0, bytes = 0;
    std::string key;
  };
  std::vector<Told> all;
  letter.list(all, [&](Told& one) {
    letter.number(one.number);
    letter.number(one.address);
    letter.number(one.bytes);
    letter.text(one.key);
  });
  if (!letter.whole) return;
  std::map<std::uint64_t, View>& known = peers_arenas_[static_cast<std::size_t>(rank)];
  std::erase_if(known, [&](const auto& entry) {
    const bool is_gone = std::none_of(all.begin(), all.end(), [&](const Told& t) { return t.number == entry.first; });
    if (is_gone) wire_.drop(entry.second.view);
    return is_gone;
  });
  const LogTap tap(host_, true);
  for (const Told& one : all)
    if (!known.contains(one.number)) known.emplace(one.number, View{one.bytes, wire_.view(rank, one.key, one.address)});
}

std::byte* SharedArenas::reach(std::int32_t rank, Place place, std::uint64_t bytes) const {
  const auto& known = peers_arenas_[static_cast<std::size_t>(rank)];
  const auto found = known.find(place.arena);
  if (found == known.end() || !found->second.view.base) return nullptr;
  if (place.offset > found->second.bytes || bytes > found->second.bytes - place.offset) return nullptr;
  return found->second.view.base + place.offset;
}

}  // namespace baleen::ucx
