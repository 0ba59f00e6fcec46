/// \file Where the console writes: a descriptor that may be a terminal, with its width and manners.
#pragma once
#include <string_view>

namespace baleen::console {

/// Borrows the descriptor. Once a write has failed it stays silent: a run must not end because nobody watches it.
class Screen {
 public:
  explicit Screen(int descriptor) : descriptor_(descriptor) {}

  /// A terminal that understands cursor movement.
  bool is_terminal() const;
  /// A terminal, and the user has not set NO_COLOR (no-color.org).
  bool has_colour() const;
  /// Columns now; 80 where unknown. Asked anew each time, so a resize needs no signal handler.
  int width() const;
  void write(std::string_view text);
  bool is_lost() const { return error_ != 0; }
  /// Why the last write failed, as errno has it; 0 where none did, or where the reader went away (a pipe, a terminal).
  int failure() const;

 private:
  int descriptor_;
  int error_ = 0;
};

}  // namespace baleen::console
