/// \file Reads UTF-8 a character at a time (Unicode 15, table 3-7).
#include "core/log/presentable.hpp"

#include <algorithm>

namespace baleen {
namespace {

unsigned char byte_at(std::string_view text, std::size_t at) { return static_cast<unsigned char>(text[at]); }

/// Bytes of the character at the front; 0 where no character begins there. `text` is not empty.
std::size_t character_size(std::string_view text) {
  const unsigned char first = byte_at(text, 0);
  if (first < 0x80) return 1;
  const std::size_t size = first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
  if (size == 0 || text.size() < size) return 0;
  // The second byte's range leaves out longer forms than needed, surrogates, and what lies past U+10FFFF.
  const unsigned char least = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const unsigned char most = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  if (byte_at(text, 1) < least || byte_at(text, 1) > most) return 0;
  for (std::size_t i = 2; i < size; ++i)
    if ((byte_at(text, i) & 0xC0) != 0x80) return 0;
  return size;
}

/// U+0000 ... U+001F but for line breaks and tabs, and U+007F ... U+009F. `character` is whole.
bool is_control(std::string_view character) {
  const unsigned char first = byte_at(character, 0);
  if (character.size() == 1) return (first < 0x20 && first != '\n' && first != '\t') || first == 0x7F;
  return first == 0xC2 && byte_at(character, 1) < 0xA0;
}

}  // namespace

std::string presentable(std::string_view text, std::size_t longest) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string plain;
  plain.reserve(std::min(text.size(), longest));
  while (!text.empty()) {
    if (plain.size() >= longest) return plain + "... (" + std::to_string(text.size()) + " bytes more)";
    const std::size_t size = character_size(text);
    const std::string_view next = text.substr(0, std::max<std::size_t>(size, 1));
    if (size > 0 && !is_control(next)) {
      plain += next;
    } else {
      for (std::size_t i = 0; i < next.size(); ++i)
        plain += {'\\', 'x', kDigits[byte_at(next, i) >> 4], kDigits[byte_at(next, i) & 15]};
    }
    text.remove_prefix(next.size());
  }
  return plain;
}

}  // namespace baleen
