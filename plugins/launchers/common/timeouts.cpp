/// \file Durations as text.
#include "common/timeouts.hpp"

#include <array>
#include <cstdio>

namespace baleen::launchers {

std::string seconds_text(Clock::duration time) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g s", std::chrono::duration<double>(time).count());
  return text.data();
}

}  // namespace baleen::launchers
