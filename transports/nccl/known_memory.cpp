/// \file Registration, and which sides of a collective have to lie alike.
#include "known_memory.hpp"

#include <algorithm>

namespace baleen::nccl {
namespace {

struct Side {
  const std::byte* at;
  std::uint64_t bytes;
};

/// What members reach at each other in calls that NCCL may carry out in windows; messages are none of these. A block in
/// its place goes with the whole.
std::vector<Side> shared_sides(const Collective& c) {
  std::vector<Side> sides;
  for (const CollectiveEntry& e : c.entries) {
    const Side in{static_cast<const std::byte*>(e.input), c.input_count(e) * c.width()},
        out{static_cast<const std::byte*>(e.output), c.output_count(e) * c.width()};
    const bool even = e.count == e.block * c.members;
    const std::uint64_t block = e.block_of(c.place).begin * c.width();
    switch (c.op) {
      case BALEEN_ALL_REDUCE: sides.insert(sides.end(), {in, out}); break;
      case BALEEN_REDUCE_SCATTER:
        sides.push_back(in);
        if (even && out.at != in.at + block) sides.push_back(out);
        break;
      case BALEEN_ALL_GATHER:
        sides.push_back(out);
        if (even && in.at != out.at + block) sides.push_back(in);
        break;
      case BALEEN_BROADCAST: sides.push_back(out.bytes > 0 && out.at ? out : in); break;
      case BALEEN_REDUCE: sides.push_back(in); break;
      case BALEEN_ALL_TO_ALL:
        if (e.sends.empty()) sides.insert(sides.end(), {in, out});
        break;
      default: break;
    }
  }
  std::erase_if(sides, [](const Side& side) { return side.bytes == 0; });
  return sides;
}

Arenas::const_iterator arena_of_nccl(const Arenas& arenas, const Side& side) {
  const auto found = arena_of(arenas, side.at, side.bytes);
  return found != arenas.end() && found->second.of_nccl ? found : arenas.end();
}

}  // namespace

Arenas::const_iterator arena_of(const Arenas& arenas, const void* at, std::uint64_t bytes) {
  auto* const begin = const_cast<std::byte*>(static_cast<const std::byte*>(at));
  auto found = arenas.upper_bound(begin);
  if (found == arenas.begin()) return arenas.end();
  --found;
  return begin + bytes <= found->first + found->second.bytes ? found : arenas.end();
}

Status KnownMemory::add(std::byte* base, std::uint64_t bytes) {
  if (handles_.count(base)) return {};
  void* handle = nullptr;
  const Code code = engine_.nccl.ncclCommRegister(comm_, base, bytes, &handle);
  if (code != kSuccess) return unsupported(failure_text(engine_.nccl, "ncclCommRegister", code, comm_));
  handles_.emplace(base, handle);
  return {};
}

void KnownMemory::remove(std::byte* base) {
  const auto window = std::ranges::find(windows_, base, &Shared::base);
  if (window != windows_.end()) {
    engine_.nccl.ncclCommWindowDeregister(comm_, window->window);
    windows_.erase(window);
    takes_windows_ = false;
  }
  const auto found = handles_.find(base);
  if (found == handles_.end()) return;
  engine_.nccl.ncclCommDeregister(comm_, found->second);
  handles_.erase(found);
}

void KnownMemory::refuse_windows() {
  takes_windows_ = false;
  for (const Shared& shared : windows_) engine_.nccl.ncclCommWindowDeregister(comm_, shared.window);
  windows_.clear();
}

void KnownMemory::clear() {
  refuse_windows();
  for (const auto& [base, handle] : handles_) engine_.nccl.ncclCommDeregister(comm_, handle);
  handles_.clear();
}

std::vector<std::byte*> KnownMemory::bases_with(const Collective& c, const Arenas& arenas) const {
  std::vector<std::byte*> bases;
  for (const Shared& shared : windows_) bases.push_back(shared.base);
  for (const Side& side : shared_sides(c)) {
    const auto arena = arena_of_nccl(arenas, side);
    if (arena != arenas.end() && std::ranges::find(bases, arena->first) == bases.end()) bases.push_back(arena->first);
  }
  return bases;
}

std::string KnownMemory::layout(const Collective& c, const Arenas& arenas) const {
  if (!takes_windows_ || c.members < 2) return {};
  const std::vector<std::byte*> bases = bases_with(c, arenas);
  std::string text = "sides";
  for (const Side& side : shared_sides(c)) {
    const auto arena = arena_of_nccl(arenas, side);
    if (arena == arenas.end()) {
      text += " elsewhere";
      continue;
    }
    const auto number = std::ranges::find(bases, arena->first) - bases.begin();
    text += " " + std::to_string(number) + ":" + std::to_string(arena->second.bytes) + "+" +
            std::to_string(side.at - arena->first);
  }
  return text;
}

// That NCCL returns success means no more than that the windows are to come.
Status KnownMemory::make_windows(const Collective& c, const Arenas& arenas) {
  for (std::byte* const base : bases_with(c, arenas)) {
    if (std::ranges::find(windows_, base, &Shared::base) != windows_.end()) continue;
    Shared& shared = windows_.emplace_back(Shared{base, nullptr});
    const std::uint64_t bytes = arenas.at(base).bytes;
    const Code code = engine_.nccl.ncclCommWindowRegister(comm_, base, bytes, &shared.window, kSymmetric);
    BALEEN_TRY(engine_.settle(comm_, "ncclCommWindowRegister", code == kSuccess ? kInProgress : code));
    if (shared.window) continue;
    windows_.pop_back();  // NCCL has none on these devices: on no member
    refuse_windows();
    return {};
  }
  return {};
}

}  // namespace baleen::nccl
