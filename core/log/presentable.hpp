/// \file Text of unknown origin, as a terminal may get it.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace baleen {

/// What the log shows of one message, in bytes.
constexpr std::size_t kLongestMessage = std::size_t{16} << 10;

/// The text without what a terminal would obey: control characters other than line breaks and tabs, and bytes that are
/// no UTF-8, are written out ("\\x1b"). Cut between two characters, with the number of bytes that are missing, where it
/// has `longest` bytes. [any thread]
std::string presentable(std::string_view text, std::size_t longest = std::string_view::npos);

}  // namespace baleen
