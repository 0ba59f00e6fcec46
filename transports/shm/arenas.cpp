/// \file Ranks learn of each other's arenas with the next letter.
#include "arenas.hpp"

#include <algorithm>

namespace baleen::shm {

Result<void*> Arenas::allocate(std::uint64_t bytes) {
  BALEEN_TRY_ASSIGN(SharedMemory memory, SharedMemory::create(bytes, "an arena"));
  void* base = memory.base();
  const std::uint64_t number = history_.size();
  history_.push_back({number, true});
  own_.emplace(number, std::move(memory));
  return base;
}

void Arenas::release(void* base) {
  const auto found = std::find_if(own_.begin(), own_.end(), [&](const auto& one) { return one.second.base() == base; });
  if (found == own_.end()) return;
  history_.push_back({found->first, false});
  own_.erase(found);
}

Location Arenas::locate(const void* buffer, std::uint64_t bytes) const {
  const auto* begin = static_cast<const std::byte*>(buffer);
  for (const auto& [number, memory] : own_)
    if (memory.holds(begin) && begin + bytes <= memory.base() + memory.bytes())
      return {static_cast<std::int64_t>(number), static_cast<std::uint64_t>(begin - memory.base()), true};
  return {-1, 0, buffer != nullptr};
}

void Arenas::tell(std::int32_t rank, Letter& letter, std::vector<int>& files) {
  std::size_t& told = told_[static_cast<std::size_t>(rank)];
  for (; told < history_.size(); ++told) {
    const Event& event = history_[told];
    if (!event.came) {
      letter.news.push_back({event.arena, 0});
    } else if (const auto found = own_.find(event.arena); found != own_.end()) {  // else gone before anyone asked
      letter.news.push_back({event.arena, found->second.bytes()});
      files.push_back(found->second.file());
    }
  }
}

Status Arenas::hear(std::int32_t rank, const Letter& letter, std::vector<FileHandle>& files) {
  auto& peer = peers_[static_cast<std::size_t>(rank)];
  std::size_t used = 0;
  for (const ArenaNews& news : letter.news) {
    if (news.bytes == 0) {
      peer.erase(news.arena);
      continue;
    }
    if (used == files.size()) return internal("shm: a letter of rank " + std::to_string(rank) + " lacks a file");
    BALEEN_TRY_ASSIGN(SharedMemory memory, SharedMemory::map(files[used++], news.bytes));
    peer.emplace(news.arena, std::move(memory));
  }
  files.erase(files.begin(), files.begin() + static_cast<std::ptrdiff_t>(used));
  return {};
}

std::byte* Arenas::reach(std::int32_t rank, const Location& location) const {
  const auto& peer = peers_[static_cast<std::size_t>(rank)];
  const auto found = location.shared() ? peer.find(static_cast<std::uint64_t>(location.arena)) : peer.end();
  return found == peer.end() ? nullptr : found->second.base() + location.offset;
}

}  // namespace baleen::shm
