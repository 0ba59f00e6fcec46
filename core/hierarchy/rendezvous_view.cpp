/// \file Called from C: nothing may be thrown out of here.
#include "core/hierarchy/rendezvous_view.hpp"

#include <new>

#include "baleen/plugin.hpp"

namespace baleen::hierarchy {

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
