/// \file GPT-2's pair of files and BERT's list.
#include <array>

#include "pipeline.hpp"
#include "unicode.hpp"

namespace baleen::text {
namespace {

/// Whether a token consists of characters that stand for bytes.
bool is_of_bytes(const std::string& token) {
  for (std::size_t at = 0; at < token.size();)
    if (byte_of_character(take_character(token, at)) < 0) return false;
  return true;
}

/// All tokens that byte-pair encoding cannot make (no byte, and of no merge) are special ones, found in the text
/// itself.
Status add_unreachable(const std::vector<std::string>& made, Pipeline::Parts& parts, const std::string& where) {
  std::vector<bool> reached(static_cast<std::size_t>(parts.model->vocabulary().end()));
  for (const std::string& token : made) reached[parts.model->vocabulary().find(token)] = true;
  for (int byte = 0; byte < 256; ++byte) {
    std::string written;
    append_byte_character(written, static_cast<unsigned char>(byte));
    const std::uint32_t id = parts.model->vocabulary().find(written);
    if (id == Vocabulary::kNone)
      return invalid("has no token for byte " + std::to_string(byte) + ", `" + written +
                         "`, so it is no byte-level vocabulary; give the model's tokenizer.json",
                     where);
    reached[id] = true;
  }
  for (std::uint32_t id = 0; id < reached.size(); ++id) {
    const std::string* token = parts.model->vocabulary().token(id);
    if (!token || reached[id] || token->empty()) continue;
    BALEEN_TRY(parts.added.add({*token, id, false, false, false, false, true}, parts.model->vocabulary(), where));
  }
  return {};
}

/// What each line of merges.txt makes.
std::vector<std::string> results_of(std::string_view merges) {
  std::vector<std::string> made;
  while (!merges.empty()) {
    const std::size_t end = std::min(merges.find('\n'), merges.size());
    std::string_view line = merges.substr(0, end);
    merges.remove_prefix(std::min(end + 1, merges.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || (made.empty() && line.starts_with("#version"))) continue;
    const std::size_t space = line.find(' ');
    made.push_back(std::string(line.substr(0, space)) + std::string(line.substr(space + 1)));
  }
  return made;
}

struct BertCase {
  bool lower_case = true, strips_accents = true, sets_ideographs_apart = true;
};

/// The keys of tokenizer_config.json that decide about ids.
Result<BertCase> read_case(std::string_view config, const std::string& where) {
  BertCase found;
  if (config.empty()) return found;
  BALEEN_TRY_ASSIGN(const Json json, parse_json(config, where));
  BALEEN_TRY_ASSIGN(JsonObject object, JsonObject::of(json, where));
  BALEEN_TRY_ASSIGN(found.lower_case, object.boolean_or("do_lower_case", true));
  BALEEN_TRY_ASSIGN(found.strips_accents, object.boolean_or("strip_accents", found.lower_case));
  BALEEN_TRY_ASSIGN(found.sets_ideographs_apart, object.boolean_or("tokenize_chinese_chars", true));
  return found;
}

}  // namespace

TokenizerResult read_vocab_and_merges(std::string_view vocabulary, std::string_view merges, const std::string& where,
                                      const std::string& merges_where) {
  BALEEN_TRY_ASSIGN(const Json json, parse_json(vocabulary, where));
  if (json.kind != Json::Kind::object) return invalid("is no object of tokens and ids", where);
  BALEEN_TRY_ASSIGN(Vocabulary tokens, Vocabulary::read(json, where));
  Pipeline::Parts parts;
  BALEEN_TRY_ASSIGN(parts.model, make_bpe(std::move(tokens), merges, merges_where));
  BALEEN_TRY_ASSIGN(parts.pre_tokenizers, gpt2_pre_tokenizer());
  parts.decoders = byte_level_decoder();
  for (std::uint32_t id = 0; id < parts.model->vocabulary().end(); ++id)
    if (const std::string* token = parts.model->vocabulary().token(id);
        token && token->ends_with("</w>") && is_of_bytes(*token))
      return unsupported("has the token `" + token->substr(0, 80) + "`, whose `</w>` marks a word's end; byte-level " +
                             "vocabularies have none. Give the model's tokenizer.json",
                         where);
  BALEEN_TRY(add_unreachable(results_of(merges), parts, where));
  return Pipeline::make(std::move(parts));
}

TokenizerResult read_vocab_txt(std::string_view vocabulary, std::string_view config, const std::string& where,
                               const std::string& config_where) {
  BALEEN_TRY_ASSIGN(const BertCase rules, read_case(config, config_where));
  BALEEN_TRY_ASSIGN(Vocabulary tokens, Vocabulary::read_lines(vocabulary, where));
  Pipeline::Parts parts;
  BALEEN_TRY_ASSIGN(parts.model, make_wordpiece(std::move(tokens), where));
  parts.normalizers.push_back(
      make_bert_normalizer({true, rules.sets_ideographs_apart, rules.strips_accents, rules.lower_case}));
  parts.pre_tokenizers = bert_pre_tokenizer();
  parts.decoders = wordpiece_decoder();
  const Vocabulary& known = parts.model->vocabulary();
  for (const char* token : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"})
    if (const std::uint32_t id = known.find(token); id != Vocabulary::kNone)
      BALEEN_TRY(parts.added.add({token, id, false, false, false, false, true}, known, where));
  const std::uint32_t first = known.find("[CLS]"), last = known.find("[SEP]");
  if (first != Vocabulary::kNone && last != Vocabulary::kNone) {
    parts.before = {first};
    parts.after = {last};
  }
  if (config.empty())
    parts.notes.push_back("beside " + where +
                          " is no tokenizer_config.json; case is taken not to count, as for BERT uncased");
  return Pipeline::make(std::move(parts));
}

}  // namespace baleen::text
