/// \file Where parts end.
#include "text_parts.hpp"

#include "unicode.hpp"

namespace baleen::text {
namespace {

/// Only called between characters, but the text may not be UTF-8 there.
bool is_space_at(std::string_view text, std::size_t at) {
  const char32_t code = next_character(text, at);
  return code == kNoCharacter || is_white_space(code);
}

std::size_t start_of_character(std::string_view text, std::size_t at) {
  for (int i = 0; i < 3 && at > 0 && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80; ++i) --at;
  return at;
}

bool is_letter_or_digit_at(std::string_view text, std::size_t at) {
  const char32_t code = next_character(text, at);
  return code != kNoCharacter && is_word(code) && !is_combining(code) && code != U'_';
}

/// The end of a part at the line's end `at`, or 0.
std::size_t good_end(std::string_view text, std::size_t at) {
  if (at == 0 || at + 1 >= text.size()) return 0;
  const std::size_t before = start_of_character(text, at - 1);
  if (!is_space_at(text, before) && !is_space_at(text, at + 1)) return at + 1;
  if (text[at - 1] != '\r' || at < 2) return 0;
  return is_letter_or_digit_at(text, start_of_character(text, at - 2)) ? at - 1 : 0;
}

std::size_t end_of_part(std::string_view text, std::size_t most) {
  const std::size_t least = most / 2;
  std::size_t line = 0, space = 0;
  for (std::size_t at = most; --at >= least;) {
    if (text[at] == '\n') {
      if (const std::size_t end = good_end(text, at); end >= least) return end;
      if (line == 0) line = at + 1;
    } else if (text[at] == ' ' && space == 0) {
      space = at;
    }
  }
  if (line > 0) return line;
  return space > 0 ? space : start_of_character(text, most);
}

}  // namespace

std::vector<std::string_view> parts_of_text(std::string_view text, std::size_t most) {
  std::vector<std::string_view> parts;
  while (text.size() > most) {
    const std::size_t end = end_of_part(text, most);
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  if (!text.empty()) parts.push_back(text);
  return parts;
}

std::vector<std::string_view> parts_of_lines(std::string_view text, std::size_t wanted) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t line = text.size() > wanted ? text.find('\n', wanted) : text.npos;
    const std::size_t end = line == text.npos ? text.size() : line + 1;
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return parts;
}

}  // namespace baleen::text
