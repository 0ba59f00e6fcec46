/// \file The C functions of the rendezvous, as requests of a RankLink.
#include "core/launch/rendezvous_table.hpp"

#include <utility>

namespace baleen {
namespace {

std::string text(baleen_string_t from) { return from.size ? std::string(from.data, from.size) : std::string(); }

}  // namespace

RendezvousTable::RendezvousTable(RankLink& link, std::function<void(const Error&)> fail)
    : link_(link),
      fail_(std::move(fail)),
      host_of_(link.place().host_of_rank.begin(), link.place().host_of_rank.end()),
      address_(link.place().address),
      table_{sizeof table_,
             this,
             link.place().rank,
             link.place().ranks,
             put,
             get_value,
             over,
             host_of_.empty() ? nullptr : host_of_.data(),
             address_.empty() ? nullptr : address_.c_str()} {}

baleen_status_t RendezvousTable::put(void* self, baleen_string_t key, baleen_string_t value) {
  const auto& rendezvous = *static_cast<RendezvousTable*>(self);
  const Status status = rendezvous.link_.put(text(key), text(value));
  if (status) return BALEEN_OK;
  rendezvous.fail_(status.error());
  return status.error().code;
}

std::int32_t RendezvousTable::over(void* self) { return static_cast<RendezvousTable*>(self)->link_.state() ? 0 : 1; }

std::int64_t RendezvousTable::get_value(void* self, baleen_string_t key, char* value, std::uint64_t capacity) {
  const auto& rendezvous = *static_cast<RendezvousTable*>(self);
  const Result<std::string> found = rendezvous.link_.get(text(key));
  if (!found) {
    rendezvous.fail_(found.error());
    return -1;
  }
  if (capacity > 0) found->copy(value, capacity);
  return static_cast<std::int64_t>(found->size());
}

}  // namespace baleen
