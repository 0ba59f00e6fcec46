/// \file A tokenizer that was trained on text and lies in files: from text to ids and back.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "baleen/result.hpp"

namespace baleen::text {

/// 128 bits of XXH3.
struct Digest {
  std::uint64_t low = 0, high = 0;
  bool operator==(const Digest&) const = default;
};
/// Of several texts and their sizes.
Digest digest_of(std::span<const std::string_view> texts);

/// Immutable. [any thread]
class TrainedTokenizer {
 public:
  /// What a file may have.
  static constexpr std::size_t kMostBytes = std::size_t{1} << 27;

  /// Opens a file, or the first that a folder has: `tokenizer.json`; `vocab.json` with `merges.txt` beside it;
  /// `vocab.txt` (WordPiece; `tokenizer_config.json` beside it says whether case counts); `tokenizer.model`,
  /// `spiece.model` or `sentencepiece.bpe.model` (SentencePiece). Fails with path and place where a file is damaged, or
  /// asks for what is not supported.
  static Result<std::unique_ptr<TrainedTokenizer>> open(const std::string& path);

  virtual ~TrainedTokenizer() = default;
  /// The largest id + 1.
  virtual std::int64_t vocabulary() const = 0;
  /// Appends the ids of a text, without those that frame it. Fails where it is not UTF-8.
  virtual Status encode(std::string_view text, std::vector<std::uint32_t>& ids) const = 0;
  /// Fails on an id that no token has.
  virtual Result<std::string> decode(std::span<const std::int32_t> ids) const = 0;
  /// A token as the vocabulary writes it; "" where no token has the id.
  virtual std::string token(std::int64_t id) const = 0;
  /// For people: "byte-pair encoding".
  virtual std::string name() const = 0;

  /// The ids that its files put before and after a text ("[CLS]", "[SEP]").
  const std::vector<std::uint32_t>& before() const { return before_; }
  const std::vector<std::uint32_t>& after() const { return after_; }
  /// Of the files and of what else decides about ids.
  const Digest& digest() const { return digest_; }
  /// What the files ask for that is no matter of ids, for the log.
  const std::vector<std::string>& notes() const { return notes_; }

 protected:
  std::vector<std::uint32_t> before_, after_;
  Digest digest_;
  std::vector<std::string> notes_;
  friend Result<std::unique_ptr<TrainedTokenizer>> with_digest(Result<std::unique_ptr<TrainedTokenizer>>,
                                                               const Digest&);
};

using TokenizerResult = Result<std::unique_ptr<TrainedTokenizer>>;

/// The contents of files; `where` is the path, for messages.
TokenizerResult read_tokenizer_json(std::string_view text, const std::string& where);
TokenizerResult read_vocab_and_merges(std::string_view vocabulary, std::string_view merges, const std::string& where,
                                      const std::string& merges_where);
/// `config`: of tokenizer_config.json, or empty.
TokenizerResult read_vocab_txt(std::string_view vocabulary, std::string_view config, const std::string& where,
                               const std::string& config_where);
TokenizerResult read_sentencepiece(std::string_view model, const std::string& where);

}  // namespace baleen::text
