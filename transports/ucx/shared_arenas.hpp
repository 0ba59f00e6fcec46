/// \file This rank's arenas, and those of its host's other ranks as far as it can reach them by a pointer.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "baleen/proposal_codec.hpp"
#include "wire.hpp"

namespace baleen::ucx {

using namespace sdk;

/// [plan time] What uses endpoints (`hear`, the end) needs the turn to use UCX.
class SharedArenas {
 public:
  /// A part of an arena; arenas are numbered by who allocated them, each number once.
  struct Place {
    std::uint64_t arena = 0, offset = 0;
  };

  SharedArenas(const Host& host, Wire& wire, std::int32_t ranks);
  ~SharedArenas();
  SharedArenas(const SharedArenas&) = delete;

  Result<void*> allocate(std::uint64_t bytes);
  void release(void* base);
  /// Where bytes of this rank lie; none where that is in no arena.
  std::optional<Place> locate(const void* data, std::uint64_t bytes) const;

  /// What peers must know to reach this rank's arenas.
  void tell(ProposalWriter& letter) const;
  /// Of a peer: maps what is new, and lets go of what is no more. What cannot be mapped is not reached.
  void hear(std::int32_t rank, ProposalReader& letter);
  /// A peer's bytes in this process, until it releases them; null where they cannot be reached.
  std::byte* reach(std::int32_t rank, Place place, std::uint64_t bytes) const;

 private:
  struct Own {
    std::uint64_t number = 0, bytes = 0;
    Wire::Memory memory;
    std::string key;
  };
  struct View {
    std::uint64_t bytes = 0;
    Wire::View view;
  };

  const Host host_;
  Wire& wire_;
  std::uint64_t next_ = 0;
  std::map<const std::byte*, Own> own_;                      // by their bases
  std::vector<std::map<std::uint64_t, View>> peers_arenas_;  // by rank and number
};

}  // namespace baleen::ucx
