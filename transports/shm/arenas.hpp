/// \file The arenas that ranks share: this rank's own, and what it has mapped of its peers'.
#pragma once
#include <map>
#include <vector>

#include "letter.hpp"
#include "memory.hpp"

namespace baleen::shm {

/// [one thread]
class Arenas {
 public:
  explicit Arenas(std::int32_t ranks) : told_(static_cast<std::size_t>(ranks)), peers_(told_.size()) {}

  Result<void*> allocate(std::uint64_t bytes);
  void release(void* base);
  /// Where a buffer of this rank lies.
  Location locate(const void* buffer, std::uint64_t bytes) const;

  /// Adds to a letter what that rank has not been told yet, and the files that go along.
  void tell(std::int32_t rank, Letter& letter, std::vector<int>& files);
  /// Maps what a letter tells of; takes its files from the front of `files`.
  Status hear(std::int32_t rank, const Letter& letter, std::vector<FileHandle>& files);
  /// A peer's buffer in this process; null for memory of its own.
  std::byte* reach(std::int32_t rank, const Location& location) const;

 private:
  struct Event {
    std::uint64_t arena;
    bool came;
  };

  std::map<std::uint64_t, SharedMemory> own_;
  std::vector<Event> history_;
  std::vector<std::size_t> told_;  // of the history, per rank
  std::vector<std::map<std::uint64_t, SharedMemory>> peers_;
};

}  // namespace baleen::shm
