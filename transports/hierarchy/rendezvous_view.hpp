/// \file The one rendezvous of a run as each of several transports sees it: keys of its own, and the ranks it joins.
#pragma once
#include <string>
#include <vector>

#include "baleen/transport.h"

namespace baleen::hierarchy {

/// Stays where it is; serves one `create`. The rendezvous below outlives it.
class RendezvousView {
 public:
  /// Joins `ranks` of those below, this one among them, and numbers them from 0; `prefix` begins its keys.
  RendezvousView(const baleen_rendezvous_t& below, std::string prefix, std::vector<std::int32_t> ranks);
  /// Joins all.
  RendezvousView(const baleen_rendezvous_t& below, std::string prefix);
  RendezvousView(const RendezvousView&) = delete;

  const baleen_rendezvous_t* get() const { return &table_; }

 private:
  static baleen_status_t put(void* self, baleen_string_t key, baleen_string_t value);
  static std::int64_t get(void* self, baleen_string_t key, char* value, std::uint64_t capacity);
  static std::int32_t over(void* self);

  const baleen_rendezvous_t& below_;
  const std::string prefix_;
  const std::vector<std::int32_t> ranks_, host_of_;
  const baleen_rendezvous_t table_;
};

}  // namespace baleen::hierarchy
