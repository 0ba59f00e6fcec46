/// \file Durations as text.
#include "core/launch/patience.hpp"

#include <array>
#include <cstdio>

namespace baleen {

std::string seconds_text(Clock::duration time) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g s", std::chrono::duration<double>(time).count());
  return text.data();
}

}  // namespace baleen
