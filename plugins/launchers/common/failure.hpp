/// \file What ended a rank, and how far it had come: what one rank tells the launcher.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "baleen/result.hpp"

namespace baleen::launchers {

/// How far a rank had come. Negative numbers and an empty phase: not known, or not begun.
struct ProgressSnapshot {
  std::int64_t step = -1;
  std::string phase;
  std::int64_t collective = -1;  ///< number of the last collective that it began; all ranks count alike, from 1
  std::uint32_t runs = 0;        ///< of programs, that it has begun; all ranks count alike
  std::uint32_t order = 0;       ///< a hash of their names in this order
  std::string program = {};      ///< the last of them
  std::string stands_in = {};    ///< the collective that could run and has not ended; "": none
  std::uint64_t passed = 0;      ///< what its process has read and written, in units of kPassedUnit bytes

  /// Far more than a process that only waits reads and writes in ten minutes.
  static constexpr std::uint64_t kPassedUnit = 64 << 20;

  /// "step 12, backward, collective 7 begun", with what is known.
  std::string text() const;
  bool operator==(const ProgressSnapshot&) const = default;
};

/// What two moments have in common.
ProgressSnapshot common(const ProgressSnapshot& a, const ProgressSnapshot& b);

struct Failure {
  Error error;
  ProgressSnapshot moment;
  std::vector<std::string> recorded = {};  ///< the last lines of the rank's log, if they help
};

/// "rank 3" or "ranks 1, 3, 5".
std::string rank_list(std::span<const int> ranks);

/// "SIGKILL", or "signal 64" where it has no name.
std::string signal_name(int signal);

}  // namespace baleen::launchers
