/// \file Called from C: nothing may be thrown out of here.
#include "rendezvous_view.hpp"

#include <algorithm>
#include <new>
#include <numeric>

#include "baleen/rendezvous.hpp"

namespace baleen::hierarchy {
namespace {

std::vector<std::int32_t> all_of(const baleen_rendezvous_t& below) {
  std::vector<std::int32_t> ranks(static_cast<std::size_t>(below.ranks));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

std::vector<std::int32_t> hosts_of(const baleen_rendezvous_t& below, const std::vector<std::int32_t>& ranks) {
  const std::vector<std::int32_t> all = Rendezvous(&below).host_of();
  std::vector<std::int32_t> hosts;
  for (const std::int32_t rank : ranks) hosts.push_back(all[static_cast<std::size_t>(rank)]);
  return hosts;
}

std::int32_t place_in(const std::vector<std::int32_t>& ranks, std::int32_t rank) {
  return static_cast<std::int32_t>(std::find(ranks.begin(), ranks.end(), rank) - ranks.begin());
}

}  // namespace

RendezvousView::RendezvousView(const baleen_rendezvous_t& below, std::string prefix, std::vector<std::int32_t> ranks)
    : below_(below),
      prefix_(std::move(prefix)),
      ranks_(std::move(ranks)),
      host_of_(hosts_of(below, ranks_)),
      table_{sizeof(baleen_rendezvous_t),
             this,
             place_in(ranks_, below.rank),
             static_cast<std::int32_t>(ranks_.size()),
             &put,
             &get,
             &over,
             host_of_.data(),
             copy_in(&below).address} {}

RendezvousView::RendezvousView(const baleen_rendezvous_t& below, std::string prefix)
    : RendezvousView(below, std::move(prefix), all_of(below)) {}

baleen_status_t RendezvousView::put(void* self, baleen_string_t key, baleen_string_t value) {
  const auto& view = *static_cast<const RendezvousView*>(self);
  try {
    const std::string full = view.prefix_ + std::string(baleen::view(key));
    return view.below_.put(view.below_.self, abi(full), value);
  } catch (const std::bad_alloc&) {
    return BALEEN_NO_MEMORY;
  }
}

std::int64_t RendezvousView::get(void* self, baleen_string_t key, char* value, std::uint64_t capacity) {
  const auto& view = *static_cast<const RendezvousView*>(self);
  try {
    const std::string full = view.prefix_ + std::string(baleen::view(key));
    return view.below_.get(view.below_.self, abi(full), value, capacity);
  } catch (const std::bad_alloc&) {
    return -1;
  }
}

std::int32_t RendezvousView::over(void* self) {
  const auto& view = *static_cast<const RendezvousView*>(self);
  return view.below_.over(view.below_.self);
}

}  // namespace baleen::hierarchy
