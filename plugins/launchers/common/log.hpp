/// \file Where a launcher's lines for the user go.
#pragma once
#include <functional>
#include <string_view>
#include <utility>

#include "baleen/base.h"

namespace baleen::launchers {

/// Cheap to copy; a default-made one is silent. [any thread, where what it is made of may be called from any]
class Log {
 public:
  using Write = std::function<void(baleen_level_t level, std::string_view line)>;
  Log() = default;
  explicit Log(Write write) : write_(std::move(write)) {}

  void debug(std::string_view line) const { say(BALEEN_DEBUG, line); }
  void warning(std::string_view line) const { say(BALEEN_WARNING, line); }

 private:
  void say(baleen_level_t level, std::string_view line) const {
    if (write_) write_(level, line);
  }
  Write write_;
};

}  // namespace baleen::launchers
