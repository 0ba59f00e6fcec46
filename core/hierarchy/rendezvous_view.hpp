/// \file The one rendezvous of a run as each of several transports sees it: keys of its own, and the ranks it joins.
#pragma once
#include <string>

#include "baleen/transport.h"

namespace baleen::hierarchy {

/// Stays where it is; serves one `create`. The rendezvous below outlives it.
class RendezvousView {
 public:
  /// `rank` and `ranks` as the transport is to number them; `prefix` begins its keys.
  RendezvousView(const baleen_rendezvous_t& below, std::string prefix, std::int32_t rank, std::int32_t ranks)
      : below_(below),
        prefix_(std::move(prefix)),
        table_{sizeof(baleen_rendezvous_t), this, rank, ranks, &put, &get, &over} {}
  RendezvousView(const RendezvousView&) = delete;

  const baleen_rendezvous_t* get() const { return &table_; }

 private:
  static baleen_status_t put(void* self, baleen_string_t key, baleen_string_t value);
  static std::int64_t get(void* self, baleen_string_t key, char* value, std::uint64_t capacity);
  static std::int32_t over(void* self);

  const baleen_rendezvous_t& below_;
  const std::string prefix_;
  const baleen_rendezvous_t table_;
};

}  // namespace baleen::hierarchy
