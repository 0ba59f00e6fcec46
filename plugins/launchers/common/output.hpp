/// \file The ranks' output on its way to the launcher's own: cut into lines, marked with their rank, never waiting.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "baleen/result.hpp"

namespace baleen::launchers {

/// Where lines of ranks go.
class LineSink {
 public:
  virtual ~LineSink() = default;
  virtual void add(std::string_view whole_lines) = 0;
  /// So much waits that ranks should too.
  virtual bool is_full() const = 0;
};

/// One of the launcher's own outputs. Borrows the descriptor, which rank 0 writes to as well, so it stays as it is:
/// instead of making it non-blocking, `flush` writes no more than surely fits.
class Output : public LineSink {
 public:
  explicit Output(int descriptor) : descriptor_(descriptor) {}

  int descriptor() const { return descriptor_; }
  void add(std::string_view whole_lines) override;
  /// False where it is a pipe or terminal whose other end is closed.
  bool has_reader() const;
  bool empty() const { return waiting_.empty(); }
  bool is_full() const override { return waiting_.size() - sent_ > kMost; }
  /// Writes, up to the end of a line if it can. Call when poll says that the descriptor takes something. Once a write
  /// has failed everything is dropped: a run does not end because its lines cannot be written.
  void flush();
  /// An error where lines of an output that somebody reads were dropped (a full disk, a closed descriptor).
  Status taken() const;

 private:
  static constexpr std::size_t kMost = std::size_t{1} << 20;
  int descriptor_;
  bool lost_ = false;
  int reason_ = 0;  ///< why they were lost, where somebody would have read them
  std::string waiting_;
  std::size_t sent_ = 0;  ///< of what waits
};

/// Puts `prefix` before every line of a stream.
class LinePrefix {
 public:
  explicit LinePrefix(std::string prefix) : prefix_(std::move(prefix)) {}

  /// Passes on what is complete. A line longer than 64 KiB goes in parts.
  void add(std::string_view bytes, LineSink& to);
  /// The stream is over: a line without an end gets one.
  void end(LineSink& to);

 private:
  static constexpr std::size_t kLongest = std::size_t{1} << 16;
  void pass_line(LineSink& to);
  std::string prefix_;
  std::string line_;
};

}  // namespace baleen::launchers
