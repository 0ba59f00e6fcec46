/// \file What is done to a text before it is cut: normal forms, lower case, accents, BERT's cleaning.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "json_tree.hpp"

namespace baleen::text {

/// A step from UTF-8 to UTF-8. Immutable. [any thread]
class Normalizer {
 public:
  virtual ~Normalizer() = default;
  virtual Status apply(std::string& text) const = 0;
};
using Normalizers = std::vector<std::unique_ptr<Normalizer>>;

/// The steps of the value `normalizer` of a tokenizer.json (null: none), sequences laid out flat. Fails, naming it, on
/// a type that is not known: known are BertNormalizer, Lowercase, NFC, NFD, NFKC, NFKD, Prepend, Replace, Sequence,
/// Strip and StripAccents.
Result<Normalizers> read_normalizer(const Json& json, const std::string& where);

struct BertCleaning {
  bool clean_text = true, sets_ideographs_apart = true, strips_accents = true, lower_case = true;
};
std::unique_ptr<Normalizer> make_bert_normalizer(const BertCleaning& cleaning);

Status normalize(const Normalizers& steps, std::string& text);

}  // namespace baleen::text
