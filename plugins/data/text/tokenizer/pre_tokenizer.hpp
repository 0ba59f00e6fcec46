/// \file Cutting a text into pieces within which tokens stay: words, numbers, marks.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "json_tree.hpp"

namespace baleen::text {

/// A part of a text. `at_start`: the text begins with it.
struct Piece {
  std::string text;
  bool at_start = false;
};
using Pieces = std::vector<Piece>;

/// A step that cuts pieces into smaller ones, or changes them. Immutable. [any thread]
class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  virtual Status apply(Pieces& pieces) const = 0;
};
using PreTokenizers = std::vector<std::unique_ptr<PreTokenizer>>;

/// The steps of the value `pre_tokenizer` of a tokenizer.json (null: none). Fails, naming it, on a type that is not
/// known: known are BertPreTokenizer, ByteLevel, Digits, Metaspace, Punctuation, Sequence, Split, Whitespace and
/// WhitespaceSplit.
Result<PreTokenizers> read_pre_tokenizer(const Json& json, const std::string& where);

/// GPT-2's: cut by its pattern (OpenAI's encoder.py), bytes as printable characters.
Result<PreTokenizers> gpt2_pre_tokenizer();
PreTokenizers bert_pre_tokenizer();

Status pre_tokenize(const PreTokenizers& steps, Pieces& pieces);

/// How byte-level vocabularies write a byte: as a character that can be printed, and back.
void append_byte_character(std::string& out, unsigned char byte);
/// -1 for a character that stands for no byte.
int byte_of_character(char32_t code);

}  // namespace baleen::text
