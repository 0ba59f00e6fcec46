/// \file The program's `new` and `delete`: from the region for planning, or malloc. What is aligned to more is not
/// here, and the other forms call these. Linked to programs, not to libraries: a program that embeds Baleen has its
/// own.
#include <cstdlib>
#include <new>

#include "core/memory/small_objects.hpp"

// Sanitizers have operators of their own, which find what these would not.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

void* operator new(std::size_t bytes) {
  const std::size_t least = bytes > 0 ? bytes : 1;
  if (baleen::SmallObjects::is_here() && least <= baleen::SmallObjects::kLargest)
    if (void* const object = baleen::planning_objects.take(least)) return object;
  while (true) {
    if (void* const object = std::malloc(least)) return object;
    const std::new_handler handler = std::get_new_handler();
    if (!handler) throw std::bad_alloc();
    handler();
  }
}

void operator delete(void* object) noexcept {
  if (baleen::planning_objects.has(object))
    baleen::planning_objects.give(object);
  else
    std::free(object);
}

void operator delete(void* object, std::size_t) noexcept { operator delete(object); }

#endif
