/// \file What is started: the steps of a collective, each prepared with the transport that carries it out.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "baleen/open_transport.hpp"

namespace baleen::hierarchy {

/// A step. Run number n of it may begin when `gate` has reached n, and is over when `done` has.
struct SubSlot {
  OpenTransport* transport = nullptr;
  void* slot = nullptr;
  bool inside = false;
  std::vector<std::size_t> after;  ///< earlier steps
  baleen_event_t gate{sizeof(baleen_event_t), 0, 0, nullptr};
  baleen_event_t done{sizeof(baleen_event_t), 0, 0, nullptr};
};

struct Slot {
  std::deque<SubSlot> steps;  ///< addresses stay; in the order of their starts
  bool direct = false;        ///< one step, which is the collective: it takes the caller's events
  std::uint64_t runs = 0;     ///< started so far
  /// Steps of each transport.
  std::size_t count(bool inside) const {
    std::size_t all = 0;
    for (const SubSlot& step : steps) all += step.inside == inside;
    return all;
  }
};

}  // namespace baleen::hierarchy
