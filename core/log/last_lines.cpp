/// \file A ring of fixed places: whoever comes takes the next one.
#include "core/log/last_lines.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>

namespace baleen {
namespace {

struct Place {
  std::atomic_flag taken;            ///< somebody writes; who comes around the ring meanwhile drops its line
  std::atomic<std::size_t> size{0};  ///< 0 until the line is whole
  std::array<char, 512> text;
};

constexpr std::uint64_t kPlaces = 32;
std::array<Place, kPlaces> places;
std::atomic<std::uint64_t> count{0};

void print(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(file, text.data(), text.size());
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace

void remember_line(std::string_view level, std::string_view text) {
  Place& place = places[count.fetch_add(1, std::memory_order_relaxed) % kPlaces];
  if (place.taken.test_and_set(std::memory_order_acquire)) return;
  place.size.store(0, std::memory_order_relaxed);
  std::size_t size = 0;
  for (const std::string_view part : {level, std::string_view(": "), text}) {
    const std::size_t more = std::min(part.size(), place.text.size() - 1 - size);
    std::memcpy(place.text.data() + size, part.data(), more);
    size += more;
  }
  place.text[size++] = '\n';
  place.size.store(size, std::memory_order_release);
  place.taken.clear(std::memory_order_release);
}

void print_last_lines(int file) {
  const std::uint64_t end = count.load(std::memory_order_relaxed), begin = end > kPlaces ? end - kPlaces : 0;
  if (begin == end) return;
  print(file, "---- the last lines of the log ----\n");
  for (std::uint64_t line = begin; line < end; ++line) {
    const Place& place = places[line % kPlaces];
    print(file, {place.text.data(), std::min(place.size.load(std::memory_order_acquire), place.text.size())});
  }
  print(file, "---- end ----\n");
}

}  // namespace baleen
