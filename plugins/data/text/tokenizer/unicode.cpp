/// \file Properties and normal forms through ICU.
#include "unicode.hpp"

#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/uniset.h>
#include <unicode/utf8.h>

#include <stdexcept>

namespace baleen::text {
namespace {

UChar32 icu(char32_t code) { return static_cast<UChar32>(code); }

/// The version of Unicode that a character came with; 0 for none.
int age_of(char32_t code) {
  UVersionInfo age;
  u_charAge(icu(code), age);
  return age[0];
}
bool is_old(char32_t code) { return age_of(code) > 0 && age_of(code) <= 8; }

bool in_categories(char32_t code, std::uint32_t mask) { return (U_GET_GC_MASK(icu(code)) & mask) != 0; }

const icu::Normalizer2& instance(Form form) {
  UErrorCode code = U_ZERO_ERROR;
  const bool decomposes = form == Form::nfd || form == Form::nfkd,
             compatible = form == Form::nfkc || form == Form::nfkd;
  const icu::Normalizer2* found = icu::Normalizer2::getInstance(nullptr, compatible ? "nfkc" : "nfc",
                                                                decomposes ? UNORM2_DECOMPOSE : UNORM2_COMPOSE, code);
  if (U_FAILURE(code) || !found) throw std::runtime_error(std::string("ICU has no normal forms: ") + u_errorName(code));
  return *found;
}

icu::UnicodeSet known_characters() {
  UErrorCode code = U_ZERO_ERROR;
  icu::UnicodeSet set(icu::UnicodeString("[:age=9.0:]"), code);
  if (U_FAILURE(code)) throw std::runtime_error(std::string("ICU knows no ages: ") + u_errorName(code));
  set.freeze();
  return set;
}

}  // namespace

char32_t next_character(std::string_view text, std::size_t& at) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
  std::size_t end = at;
  UChar32 code = 0;
  U8_NEXT(bytes, end, text.size(), code);
  if (code < 0) return kNoCharacter;
  at = end;
  return static_cast<char32_t>(code);
}

char32_t take_character(std::string_view text, std::size_t& at) {
  const char32_t code = next_character(text, at);
  if (code == kNoCharacter) throw std::logic_error("a text that was checked is not UTF-8");
  return code;
}

char32_t character_before(std::string_view text, std::size_t at) {
  std::size_t start = at - 1;
  while (start > 0 && (static_cast<unsigned char>(text[start]) & 0xc0) == 0x80) --start;
  return take_character(text, start);
}

std::size_t end_of_utf8(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    if (static_cast<unsigned char>(text[at]) < 0x80)
      ++at;
    else if (next_character(text, at) == kNoCharacter)
      break;
  }
  return at;
}

void append_utf8(std::string& out, char32_t code) {
  const auto put = [&](char32_t bits) { out.push_back(static_cast<char>(bits)); };
  if (code < 0x80) return put(code);
  if (code < 0x800) return put(0xc0 | code >> 6), put(0x80 | (code & 0x3f));
  if (code < 0x10000) return put(0xe0 | code >> 12), put(0x80 | (code >> 6 & 0x3f)), put(0x80 | (code & 0x3f));
  put(0xf0 | code >> 18);
  put(0x80 | (code >> 12 & 0x3f));
  put(0x80 | (code >> 6 & 0x3f));
  put(0x80 | (code & 0x3f));
}

bool is_white_space(char32_t code) { return u_isUWhiteSpace(icu(code)); }
bool is_numeric(char32_t code) { return in_categories(code, U_GC_N_MASK); }
bool is_combining(char32_t code) {
  if (code == 0x1cf2 || code == 0x1cf3) return true;  // letters since 12
  if (code == 0x111c9) return false;                  // punctuation until 11
  return in_categories(code, U_GC_M_MASK) && age_of(code) <= 9;
}
bool is_word(char32_t code) {
  return u_isUAlphabetic(icu(code)) || in_categories(code, U_GC_M_MASK | U_GC_ND_MASK | U_GC_PC_MASK) ||
         u_hasBinaryProperty(icu(code), UCHAR_JOIN_CONTROL);
}

bool is_old_control(char32_t code) {
  return in_categories(code, U_GC_CC_MASK | U_GC_CF_MASK | U_GC_CO_MASK | U_GC_CS_MASK) && is_old(code);
}
bool is_old_punctuation(char32_t code) {
  if (code < 0x80) return code > ' ' && code < 0x7f && !u_isalnum(icu(code));
  if (code == 0x166d || code == 0x111c9) return true;  // other categories since 12 and 11
  return in_categories(code, U_GC_P_MASK) && is_old(code);
}
bool is_old_nonspacing(char32_t code) {
  if (code == 0x1734) return true;  // Mc since 14; the others came to Mn after 8
  if (code == 0x1885 || code == 0x1886 || code == 0xa9bd || code == 0x111c9) return false;
  return in_categories(code, U_GC_MN_MASK) && is_old(code);
}

bool is_ideograph(char32_t code) {
  constexpr char32_t kRanges[][2] = {{0x4e00, 0x9fff},   {0x3400, 0x4dbf},   {0x20000, 0x2a6df}, {0x2a700, 0x2b73f},
                                     {0x2b740, 0x2b81f}, {0x2b920, 0x2ceaf}, {0xf900, 0xfaff},   {0x2f800, 0x2fa1f}};
  for (const auto& [first, last] : kRanges)
    if (code >= first && code <= last) return true;
  return false;
}

std::string lower_case(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const char32_t code = take_character(text, at);
    append_utf8(out, static_cast<char32_t>(u_tolower(icu(code))));
    if (code == 0x130) append_utf8(out, 0x307);  // the one character whose lower case is two
  }
  return out;
}

struct NormalForm::State {
  explicit State(Form form) : known(known_characters()), normal(instance(form), known) {}
  icu::UnicodeSet known;
  icu::FilteredNormalizer2 normal;
};

NormalForm::NormalForm(Form form) : state_(std::make_unique<State>(form)) {}
NormalForm::NormalForm(NormalForm&&) noexcept = default;
NormalForm::~NormalForm() = default;

std::string NormalForm::of(std::string_view text) const {
  const icu::StringPiece piece(text.data(), static_cast<std::int32_t>(text.size()));
  UErrorCode code = U_ZERO_ERROR;
  std::string out;
  icu::StringByteSink<std::string> sink(&out, static_cast<std::int32_t>(text.size()));
  state_->normal.normalizeUTF8(0, piece, sink, nullptr, code);
  if (U_FAILURE(code)) throw std::runtime_error(std::string("ICU cannot normalise: ") + u_errorName(code));
  return out;
}

}  // namespace baleen::text
