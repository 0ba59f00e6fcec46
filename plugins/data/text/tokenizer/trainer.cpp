/// \file The kinds, and the files of those that are JSON.
#include "trainer.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "pair_trainer.hpp"
#include "sentencepiece_trainer.hpp"
#include "training_options.hpp"
#include "unicode.hpp"
#include "word_counts.hpp"

namespace baleen::text {
namespace {

using Out = nlohmann::ordered_json;

constexpr std::string_view kKinds =
    "bpe: byte-level byte-pair encoding, as GPT-2 and Llama 3 have it; pattern=gpt2|llama3, min_frequency=N (2), "
    "special=TOKEN (<|endoftext|>; may come again)\n"
    "wordpiece: WordPiece, as BERT has it; lowercase=true|false, min_frequency=N (2), alphabet=N (1000), special=TOKEN "
    "(one "
    "more than [PAD], [UNK], [CLS], [SEP], [MASK])\n"
    "sentencepiece: a SentencePiece .model; model=unigram|bpe, byte_fallback=false|true, character_coverage=PER_MILLE "
    "(999), "
    "special=TOKEN, max_lines=N (0: all)";

/// Llama 3's pattern (its tokenizer.py).
constexpr const char* kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+)"
    R"(|\s+(?!\S)|\s+)";

Out byte_level(bool uses_regex) {
  return {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", uses_regex}};
}

/// The value `pre_tokenizer` of a pattern.
Out pre_tokenizer_of(const std::string& pattern) {
  if (pattern == "gpt2") return byte_level(true);
  const Out split = {{"type", "Split"}, {"pattern", {{"Regex", kLlama3}}}, {"behavior", "Isolated"}, {"invert", false}};
  return {{"type", "Sequence"}, {"pretokenizers", Out::array({split, byte_level(false)})}};
}

Out added_tokens(const std::vector<std::string>& specials) {
  Out list = Out::array();
  for (std::size_t i = 0; i < specials.size(); ++i)
    list.push_back({{"id", i},
                    {"content", specials[i]},
                    {"single_word", false},
                    {"lstrip", false},
                    {"rstrip", false},
                    {"normalized", false},
                    {"special", true}});
  return list;
}

Out vocabulary_of(const std::vector<std::string>& tokens) {
  Out vocabulary = Out::object();
  auto& members = vocabulary.get_ref<Out::object_t&>();  // a vector, whose own insertion seeks each key
  for (std::size_t i = 0; i < tokens.size(); ++i) members.push_back({tokens[i], Out(i)});
  return vocabulary;
}

/// A step of our own from its JSON, so that training cuts as the file will.
template <class Steps, class Read>
Result<Steps> steps_of(const Out& json, Read read) {
  BALEEN_TRY_ASSIGN(const Json tree, parse_json(json.dump(), "training"));
  return read(tree, "training");
}

Status check_specials(const std::vector<std::string>& specials) {
  for (std::size_t i = 0; i < specials.size(); ++i) {
    if (specials[i].empty() || end_of_utf8(specials[i]) < specials[i].size())
      return invalid("option `special` is `" + specials[i] + "`; it must be a text");
    if (std::count(specials.begin(), specials.end(), specials[i]) > 1)
      return invalid("the special token `" + specials[i] + "` is given twice");
  }
  return {};
}

Status check_size(std::int64_t wanted, std::size_t least, const std::string& of_what) {
  if (wanted > static_cast<std::int64_t>(least)) return {};
  return invalid("a vocabulary of " + std::to_string(wanted) + " is too small: " + std::to_string(least) +
                 " tokens are " + of_what + ", so it must be larger");
}

Out whole(Out added, Out normalizer, Out pre_tokenizer, Out post_processor, Out decoder, Out model) {
  return {{"version", "1.0"},
          {"truncation", nullptr},
          {"padding", nullptr},
          {"added_tokens", std::move(added)},
          {"normalizer", std::move(normalizer)},
          {"pre_tokenizer", std::move(pre_tokenizer)},
          {"post_processor", std::move(post_processor)},
          {"decoder", std::move(decoder)},
          {"model", std::move(model)}};
}

void tell_end(const PairTraining& training, std::int64_t wanted, const TrainingLog& log) {
  const auto made = static_cast<std::int64_t>(training.tokens.size());
  if (made < wanted)
    log("the text gives " + std::to_string(made) + " tokens, fewer than the " + std::to_string(wanted) +
        " wanted: no further pair stands often enough");
}

Result<std::string> train_bpe(std::int64_t vocabulary, TrainingOptions options, const std::vector<TrainingText>& texts,
                              const TrainingLog& log) {
  BALEEN_TRY_ASSIGN(const std::string pattern, options.word("pattern", {"gpt2", "llama3"}));
  BALEEN_TRY_ASSIGN(const std::int64_t least, options.integer("min_frequency", 1, 1 << 30, 2));
  const auto specials = options.list("special", {"<|endoftext|>"});
  BALEEN_TRY(options.finish("bpe"));
  BALEEN_TRY(check_specials(specials));
  BALEEN_TRY(check_size(vocabulary, specials.size() + 256, "bytes and special ones"));
  const Out pre_tokenizer = pre_tokenizer_of(pattern);
  BALEEN_TRY_ASSIGN(const auto steps, steps_of<PreTokenizers>(pre_tokenizer, read_pre_tokenizer));
  BALEEN_TRY_ASSIGN(const auto words, count_words(texts, {}, steps));
  log(std::to_string(words.size()) + " different words");
  PairTraining training;
  training.tokens = specials;
  // All bytes, in the order of the characters that stand for them.
  std::uint32_t id_of_byte[256] = {};
  for (char32_t code = 0; code < 0x200; ++code)
    if (const int byte = byte_of_character(code); byte >= 0) {
      id_of_byte[byte] = static_cast<std::uint32_t>(training.tokens.size());
      append_utf8(training.tokens.emplace_back(), code);
    }
  std::vector<CountedWord> counted;
  for (const auto& [word, count] : words) {
    CountedWord& one = counted.emplace_back();
    one.count = count;
    for (std::size_t at = 0; at < word.size();)
      one.ids.push_back(id_of_byte[byte_of_character(take_character(word, at))]);
  }
  learn_pairs(std::move(counted), static_cast<std::size_t>(vocabulary), least, "", training);
  tell_end(training, vocabulary, log);
  Out merges = Out::array();
  for (const auto& [left, right] : training.merges)
    merges.push_back(Out::array({training.tokens[left], training.tokens[right]}));
  const Out model = {{"type", "BPE"},
                     {"dropout", nullptr},
                     {"unk_token", nullptr},
                     {"continuing_subword_prefix", nullptr},
                     {"end_of_word_suffix", nullptr},
                     {"fuse_unk", false},
                     {"byte_fallback", false},
                     {"ignore_merges", false},
                     {"vocab", vocabulary_of(training.tokens)},
                     {"merges", merges}};
  return whole(added_tokens(specials), nullptr, pre_tokenizer, byte_level(true), byte_level(true), model).dump(1) +
         "\n";
}

/// The characters that stand most often, each a token, and, within words, one with ##.
void add_alphabet(const std::map<std::string, std::int64_t>& words, std::size_t most, PairTraining& training,
                  std::map<char32_t, std::uint32_t>& first, std::map<char32_t, std::uint32_t>& within) {
  std::map<char32_t, std::int64_t> counts;
  for (const auto& [word, count] : words)
    for (std::size_t at = 0; at < word.size();) {
      const bool begins = at == 0;
      const char32_t code = take_character(word, at);
      counts[code] += count;
      if (!begins) within[code] = 0;
    }
  std::vector<std::pair<std::int64_t, char32_t>> ranked;
  for (const auto& [code, count] : counts) ranked.emplace_back(-count, code);
  std::sort(ranked.begin(), ranked.end());
  ranked.resize(std::min(ranked.size(), most));
  for (const auto& [count, code] : ranked) first[code] = 0;
  std::erase_if(within, [&](const auto& one) { return !first.contains(one.first); });
  for (auto& [code, id] : first) {
    id = static_cast<std::uint32_t>(training.tokens.size());
    append_utf8(training.tokens.emplace_back(), code);
  }
  for (auto& [code, id] : within) {
    id = static_cast<std::uint32_t>(training.tokens.size());
    append_utf8(training.tokens.emplace_back("##"), code);
  }
}

std::vector<CountedWord> spell_words(const std::map<std::string, std::int64_t>& words,
                                     const std::map<char32_t, std::uint32_t>& first,
                                     const std::map<char32_t, std::uint32_t>& within) {
  std::vector<CountedWord> spelled;
  for (const auto& [word, count] : words) {
    CountedWord one;
    one.count = count;
    bool known = true;
    for (std::size_t at = 0; known && at < word.size();) {
      const auto& ids = at == 0 ? first : within;
      const auto found = ids.find(take_character(word, at));
      known = found != ids.end();
      if (known) one.ids.push_back(found->second);
    }
    if (known) spelled.push_back(std::move(one));
  }
  return spelled;
}

Result<std::string> train_wordpiece(std::int64_t vocabulary, TrainingOptions options,
                                    const std::vector<TrainingText>& texts, const TrainingLog& log) {
  BALEEN_TRY_ASSIGN(const bool lowercase, options.boolean("lowercase", true));
  BALEEN_TRY_ASSIGN(const std::int64_t least, options.integer("min_frequency", 1, 1 << 30, 2));
  BALEEN_TRY_ASSIGN(const std::int64_t alphabet, options.integer("alphabet", 1, 1 << 21, 1000));
  std::vector<std::string> specials = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
  for (std::string& more : options.list("special", {})) specials.push_back(std::move(more));
  BALEEN_TRY(options.finish("wordpiece"));
  BALEEN_TRY(check_specials(specials));
  const Out normalizer = {{"type", "BertNormalizer"},
                          {"clean_text", true},
                          {"handle_chinese_chars", true},
                          {"strip_accents", nullptr},
                          {"lowercase", lowercase}};
  BALEEN_TRY_ASSIGN(const auto normalizers, steps_of<Normalizers>(normalizer, read_normalizer));
  BALEEN_TRY_ASSIGN(const auto words, count_words(texts, normalizers, bert_pre_tokenizer()));
  log(std::to_string(words.size()) + " different words");
  PairTraining training;
  training.tokens = specials;
  std::map<char32_t, std::uint32_t> first, within;
  add_alphabet(words, static_cast<std::size_t>(alphabet), training, first, within);
  BALEEN_TRY(check_size(vocabulary, training.tokens.size(), "characters and special ones"));
  learn_pairs(spell_words(words, first, within), static_cast<std::size_t>(vocabulary), least, "##", training);
  tell_end(training, vocabulary, log);
  const Out model = {{"type", "WordPiece"},
                     {"unk_token", "[UNK]"},
                     {"continuing_subword_prefix", "##"},
                     {"max_input_chars_per_word", 100},
                     {"vocab", vocabulary_of(training.tokens)}};
  const Out post = {{"type", "BertProcessing"}, {"sep", Out::array({"[SEP]", 3})}, {"cls", Out::array({"[CLS]", 2})}};
  const Out decoder = {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}};
  return whole(added_tokens(specials), normalizer, {{"type", "BertPreTokenizer"}}, post, decoder, model).dump(1) + "\n";
}

}  // namespace

std::string_view trained_kinds() { return kKinds; }

Result<std::string> train_tokenizer(const TrainingRequest& request, const std::vector<TrainingText>& texts,
                                    const TrainingLog& log) {
  BALEEN_TRY_ASSIGN(TrainingOptions options, TrainingOptions::parse(request.options));
  if (request.vocabulary < 1 || request.vocabulary > 1 << 24)
    return invalid("a vocabulary of " + std::to_string(request.vocabulary) + " is not from 1 to 16777216");
  if (request.kind == "bpe") return train_bpe(request.vocabulary, std::move(options), texts, log);
  if (request.kind == "wordpiece") return train_wordpiece(request.vocabulary, std::move(options), texts, log);
  if (request.kind == "sentencepiece") return train_sentencepiece(request.vocabulary, std::move(options), texts, log);
  return invalid("unknown kind of tokenizer `" + request.kind + "`; known are bpe, wordpiece and sentencepiece");
}

}  // namespace baleen::text
