/// \file Cutting long texts where it changes no token.
#pragma once
#include <cstddef>
#include <string_view>
#include <vector>

namespace baleen::text {

/// What is encoded at once.
inline constexpr std::size_t kPartBytes = std::size_t{1} << 20;

/// `text` in parts of at most `most` bytes (at least 16). They end behind a line whose end has no white space beside
/// it, or before the "\r\n" behind a letter or digit; where the second half of a part has none of these, at a line's
/// end, or at a space, or at a character. A function of the text alone.
std::vector<std::string_view> parts_of_text(std::string_view text, std::size_t most = kPartBytes);

/// `text` in parts of whole lines, each as long as lines allow but not much longer than `wanted` bytes.
std::vector<std::string_view> parts_of_lines(std::string_view text, std::size_t wanted = kPartBytes);

}  // namespace baleen::text
