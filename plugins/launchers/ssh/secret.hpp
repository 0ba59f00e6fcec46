/// \file What the hosts of one job share, and nobody else: kept in a file or passed through a pipe, never in a command,
/// an environment or a log.
#pragma once
#include <string>
#include <string_view>

#include "baleen/result.hpp"

namespace baleen::launchers {

/// Wiped from memory at its end.
class Secret {
 public:
  /// Fewer characters could be guessed.
  static constexpr std::size_t kShortest = 32;

  /// None: needed where there is one host only.
  Secret() = default;
  Secret(const Secret&) = default;
  Secret& operator=(const Secret&) = default;
  ~Secret();

  /// 256 fresh bits, as 64 hexadecimal digits.
  static Secret fresh();
  /// Blanks around it do not count. INVALID where it is too short.
  static Result<Secret> from(std::string_view text, const std::string& where);
  /// INVALID where others may read the file, since then it is none.
  static Result<Secret> read(const std::string& file);

  /// Makes a file that only this user may read. INVALID where there is one.
  Status write(const std::string& file) const;

  const std::string& text() const { return text_; }

 private:
  explicit Secret(std::string_view text) : text_(text) {}
  std::string text_;
};

/// What the first host tells those that it starts, through their standard input.
struct StartWord {
  Secret secret;
  int port = 0;  ///< where the first host listens

  std::string line() const;
  /// Without the line's end.
  static Result<StartWord> from(std::string_view line);
  /// Waits for the line.
  static Result<StartWord> read(int descriptor);
};

}  // namespace baleen::launchers
