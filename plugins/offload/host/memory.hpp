/// \file The memory of the slots: regions that are there, page by page, before the first step.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "baleen/offload.h"
#include "baleen/result.hpp"

namespace baleen::host_memory {

/// Regions follow each other in the store's bytes, not in addresses. [one thread; `address`: any, while none changes]
class Memory {
 public:
  /// `pinning` may be null.
  Memory(const baleen_offload_pinning_t* pinning, bool huge_pages) : pinning_(pinning), huge_pages_(huge_pages) {}
  Memory(const Memory&) = delete;
  ~Memory();

  /// A zeroed region for the store's bytes [begin, end). NO_MEMORY, with numbers, where the machine or the process's
  /// control group has not that much.
  Status add(std::uint64_t begin, std::uint64_t end);
  /// The last one, which begins there.
  void remove(std::uint64_t begin);
  std::byte* address(std::uint64_t at) const;

 private:
  struct Region {
    std::uint64_t begin;
    std::byte* base;
    std::uint64_t mapped;
  };
  void free_last();

  const baleen_offload_pinning_t* pinning_;
  bool huge_pages_;
  std::vector<Region> regions_;
};

}  // namespace baleen::host_memory
