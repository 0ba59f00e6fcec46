/// \file The rendezvous as a plugin sees it.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "baleen/transport.h"
#include "core/launch/rank_link.hpp"

namespace baleen {

/// A RankLink behind the table that transports get.
class RendezvousTable {
 public:
  /// Borrows both: they outlive this object, and this object every transport that was made with it. `fail` keeps the
  /// reason of a failure for the core, as baleen_host_t::fail does. [any thread]
  RendezvousTable(RankLink& link, std::function<void(const Error&)> fail);
  RendezvousTable(const RendezvousTable&) = delete;

  const baleen_rendezvous_t* get() const { return &table_; }

 private:
  static baleen_status_t put(void* self, baleen_string_t key, baleen_string_t value);
  static std::int32_t over(void* self);
  static std::int64_t get_value(void* self, baleen_string_t key, char* value, std::uint64_t capacity);

  RankLink& link_;
  std::function<void(const Error&)> fail_;
  std::vector<std::int32_t> host_of_;
  std::string address_;
  baleen_rendezvous_t table_;
};

}  // namespace baleen
