/// \file What this process holds of the host's memory, as the system counts it (proc(5)).
#pragma once
#include <cstdint>

namespace baleen::app {

/// Bytes; 0 where the system does not say.
struct ProcessMemory {
  std::uint64_t peak = 0;      ///< the most that was resident so far: program, libraries, heap, Lua, data, arenas
  std::uint64_t resident = 0;  ///< anonymous and shared pages now
  /// Of shared pages what counts for other processes that have them too: each has an equal part.
  std::uint64_t of_others = 0;
  std::uint64_t unread_files = 0;  ///< pages of mapped data files that were not read yet

  /// The peak, pages shared with other processes counted once in all.
  std::uint64_t own_peak() const { return peak - (of_others < peak ? of_others : 0); }
};

ProcessMemory process_memory();

}  // namespace baleen::app
