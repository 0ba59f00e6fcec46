/// \file The loaded text: two streams of tokens, train and held-out, over the files that hold them.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "baleen/data.hpp"
#include "facts.hpp"
#include "file_bytes.hpp"
#include "stream.hpp"
#include "tokenized_files.hpp"
#include "tokenizer.hpp"
#include "tokenizer/trained_tokenizer.hpp"

namespace baleen::text {

using namespace sdk;

/// A range of a stream.
struct Part {
  const Stream* stream = nullptr;
  std::int64_t first = 0;
  std::int64_t size = 0;
};

/// Immutable once loaded.
class Corpus {
 public:
  /// Finds, opens, splits and tokenises what the plugin's options name.
  static Result<Corpus> load(const Host& host, const Settings& settings);
  /// The same with what another text has taught, and `given`'s rows.
  static Result<Corpus> load(const Host& host, const Settings& settings, const LearnedFacts& given);

  Part part(baleen_split_t split) const;
  Tokenizer tokenizer() const { return tokenizer_; }
  const Alphabet& alphabet() const { return alphabet_; }
  /// Null but for kTrained.
  const TrainedTokenizer* trained() const { return trained_.get(); }
  /// The ids that end a document, for kTrained.
  const std::vector<std::uint32_t>& separator() const { return rules_.separator; }
  /// Ids are below this.
  std::int64_t vocabulary() const { return vocabulary_; }
  Facts facts() const;
  std::size_t file_count(baleen_split_t split) const { return file_count_[split]; }
  std::uint64_t bytes() const { return bytes_; }
  /// Of the tokens.
  std::uint64_t digest() const { return streams_[BALEEN_TRAIN].digest() * 31 + streams_[BALEEN_HELD_OUT].digest(); }

 private:
  struct File {
    std::string path;
    FileBytes contents;
    bool held_out = false;
  };

  Status read(const Host& host, const Settings& settings);
  Status open_files(const Settings& settings);
  Status add_text(const Settings& settings, std::string_view option);
  Status check_tokenizer() const;
  Status hold_out_every(std::int64_t every);
  Status read_rules(const Settings& settings);
  Status tokenize(const Host& host, const Settings& settings);
  Status tokenize_trained(const Host& host, const Settings& settings);
  std::string cache_folder(const Settings& settings) const;
  Status tokenize_characters();
  Status split_by_fraction(double fraction);
  Status choose_vocabulary(std::int64_t wanted);

  std::string source_;          // in place of what `path` and its like name; empty: theirs
  bool all_rows_ = false;       // both parts are all of the text
  std::optional<Facts> known_;  // of another text
  std::vector<File> files_;
  std::vector<std::vector<std::uint32_t>> ids_;  // characters, one per file
  std::array<Stream, 2> streams_;
  std::int64_t kept_back_ = 0;  // tokens at the end of the train stream that are held out
  Tokenizer tokenizer_ = Tokenizer::kBytes;
  Alphabet alphabet_;
  std::unique_ptr<TrainedTokenizer> trained_;
  DocumentRules rules_;
  TokenizedFiles tokenized_;
  std::int64_t vocabulary_ = 0;
  std::array<std::size_t, 2> file_count_{};
  std::uint64_t bytes_ = 0;
};

}  // namespace baleen::text
