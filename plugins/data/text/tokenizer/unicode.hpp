/// \file UTF-8, and the properties of characters that tokenizers ask for (ICU).
#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace baleen::text {

/// What next_character gives where there is none.
inline constexpr char32_t kNoCharacter = 0xffffffff;

/// The character at `at` < text.size(), and moves past it; kNoCharacter, and stays, where it is not UTF-8 (overlong
/// forms and surrogates are not).
char32_t next_character(std::string_view text, std::size_t& at);
/// The same for a text that is known to be UTF-8.
char32_t take_character(std::string_view text, std::size_t& at);
/// The character before `at` > 0 in a text that is known to be UTF-8.
char32_t character_before(std::string_view text, std::size_t at);
/// The byte at which `text` stops being UTF-8; its size where it is all UTF-8.
std::size_t end_of_utf8(std::string_view text);
void append_utf8(std::string& out, char32_t code);

bool is_white_space(char32_t code);  ///< the property White_Space
bool is_numeric(char32_t code);      ///< categories Nd, Nl, No
bool is_word(char32_t code);         ///< what \w means in UTS 18, annex C
/// Categories M*, of characters that Unicode 9 has.
bool is_combining(char32_t code);
/// The categories as the tables of BERT's tokenizers have them, which end with Unicode 8. C* without unassigned ones.
bool is_old_control(char32_t code);
bool is_old_punctuation(char32_t code);  ///< ASCII's symbols too
bool is_old_nonspacing(char32_t code);
/// The ideographs that BERT sets apart.
bool is_ideograph(char32_t code);

/// The text with each character in lower case by itself (no rules for its neighbours).
std::string lower_case(std::string_view text);

enum class Form { nfc, nfd, nfkc, nfkd };

/// A normal form (UAX 15). Characters that came after Unicode 9 stay as they are, as in Hugging Face's tokenizers,
/// whose tables end there: what a model was trained with is what counts. Immutable. [any thread]
class NormalForm {
 public:
  explicit NormalForm(Form form);
  NormalForm(NormalForm&&) noexcept;
  ~NormalForm();
  /// Of UTF-8.
  std::string of(std::string_view text) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace baleen::text
