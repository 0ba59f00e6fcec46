/// \file The log: lines on stderr with level and rank, and a flight recorder that remembers the last lines of every
/// level, shown when the run ends by our own bug.
#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "baleen/base.h"

namespace baleen {

/// A cheap handle; copies write to the same log. A default-made one is silent but still remembers.
/// Every member may be called from any thread.
class Log {
 public:
  /// Lines kept by the flight recorder.
  static constexpr std::size_t kRecorded = 256;

  Log();
  /// Lines of `level` and above go to stderr.
  static Log to_stderr(baleen_level_t level = BALEEN_INFO);

  /// Lines of `level` and above go to `sink`, one call at a time.
  using Sink = std::function<void(baleen_level_t level, std::string_view text)>;
  static Log to(Sink sink, baleen_level_t level = BALEEN_INFO);

  /// Name and version of the library underneath.
  static std::string_view library();

  /// With more than one rank, lines begin with "[rank 3]".
  void set_rank(int rank, int ranks) const;
  void set_level(baleen_level_t level) const;

  void debug(std::string_view text) const { write(BALEEN_DEBUG, text); }
  void info(std::string_view text) const { write(BALEEN_INFO, text); }
  void warning(std::string_view text) const { write(BALEEN_WARNING, text); }
  void failure(std::string_view text) const { write(BALEEN_FAILURE, text); }
  void write(baleen_level_t level, std::string_view text) const;

  /// The last lines, oldest first, each with time, level and rank, whether they were shown or not.
  std::vector<std::string> recorded() const;
  /// Writes them to stderr between two marks.
  void dump_recorded() const { dump(recorded()); }
  /// The same for lines of another process's log.
  static void dump(std::span<const std::string> lines);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// "debug", "info", "warning", "error"; nothing for another word.
std::optional<baleen_level_t> level_from(std::string_view name);

}  // namespace baleen
