/// \file Hands lines to SentencePiece's trainer.
#include "sentencepiece_trainer.hpp"

#include <sentencepiece_trainer.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "unicode.hpp"

namespace baleen::text {
namespace {

constexpr std::size_t kLongestLine = 4192;  // the library leaves out longer ones

class Lines final : public sentencepiece::SentenceIterator {
 public:
  explicit Lines(const std::vector<TrainingText>& texts) : texts_(texts) { Next(); }
  bool done() const override { return done_; }
  void Next() override {
    for (;;) {
      while (at_ >= rest().size()) {
        if (++text_ >= texts_.size()) {
          done_ = true;
          return;
        }
        at_ = 0;
      }
      const std::size_t end = std::min(rest().find('\n', at_), rest().size());
      std::string_view line = rest().substr(at_, end - at_);
      at_ = end + 1;
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (line.empty()) continue;
      too_long_ += line.size() > kLongestLine;
      line_ = line;
      return;
    }
  }
  const std::string& value() const override { return line_; }
  sentencepiece::util::Status status() const override { return {}; }
  std::size_t too_long() const { return too_long_; }

 private:
  std::string_view rest() const { return texts_[text_].text; }

  const std::vector<TrainingText>& texts_;
  std::size_t text_ = 0, at_ = 0, too_long_ = 0;
  std::string line_;
  bool done_ = false;
};

std::string joined(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : ",") + word;
  return all;
}

}  // namespace

Result<std::string> train_sentencepiece(std::int64_t vocabulary, TrainingOptions options,
                                        const std::vector<TrainingText>& texts, const TrainingLog& log) {
  BALEEN_TRY_ASSIGN(const std::string model, options.word("model", {"unigram", "bpe"}));
  BALEEN_TRY_ASSIGN(const bool bytes, options.boolean("byte_fallback", false));
  BALEEN_TRY_ASSIGN(const std::int64_t coverage, options.integer("character_coverage", 980, 1000, 999));
  BALEEN_TRY_ASSIGN(const std::int64_t lines, options.integer("max_lines", 0, 1 << 30, 0));
  const auto specials = options.list("special", {});
  BALEEN_TRY(options.finish("sentencepiece"));
  for (const std::string& special : specials)
    if (special.find(',') != special.npos)
      return invalid("option `special` is `" + special + "`; SentencePiece's have no comma");
  for (const TrainingText& text : texts)
    if (const std::size_t end = end_of_utf8(text.text); end < text.text.size())
      return invalid("not UTF-8 at byte " + std::to_string(end), text.path);
  std::unordered_map<std::string, std::string> words = {
      {"model_type", model},
      {"vocab_size", std::to_string(vocabulary)},
      {"byte_fallback", bytes ? "true" : "false"},
      {"character_coverage", std::to_string(static_cast<double>(coverage) / 1000)},
      {"hard_vocab_limit", "false"},
      {"minloglevel", "2"},
      {"num_threads", "1"}};  // sums of several threads come in any order, and pieces with them
  if (lines > 0) words["input_sentence_size"] = std::to_string(lines);
  if (lines > 0) words["shuffle_input_sentence"] = "false";
  if (!specials.empty()) words["user_defined_symbols"] = joined(specials);
  Lines source(texts);
  std::string made;
  const auto status = sentencepiece::SentencePieceTrainer::Train(words, &source, &made);
  if (!status.ok()) return invalid("SentencePiece cannot train on this text: " + std::string(status.message()));
  if (source.too_long() > 0)
    log(std::to_string(source.too_long()) + " lines of more than " + std::to_string(kLongestLine) +
        " bytes were left out");
  return made;
}

}  // namespace baleen::text
