/// \file From a piece of text to ids: what tokenizer files call the model, and its vocabulary.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "json_tree.hpp"

namespace baleen::text {

/// Tokens by text and by id. An id may be missing, but ids are not much larger than their number.
class Vocabulary {
 public:
  static constexpr std::uint32_t kNone = 0xffffffff;

  Vocabulary(Vocabulary&&) = default;
  Vocabulary& operator=(Vocabulary&&) = default;

  /// `{ "token": id, … }`. Fails on ids that stand twice, are negative or leave large gaps.
  static Result<Vocabulary> read(const Json& object, const std::string& where);
  /// A token for each line; an empty last line counts for nothing.
  static Result<Vocabulary> read_lines(std::string_view text, const std::string& where);
  /// Tokens with the ids 0, 1, ...; fails on one that stands twice.
  static Result<Vocabulary> of(std::vector<std::string> tokens, const std::string& where);

  /// kNone where there is no such token.
  std::uint32_t find(std::string_view token) const {
    const auto found = ids_.find(token);
    return found == ids_.end() ? kNone : found->second;
  }
  /// Null where no token has the id.
  const std::string* token(std::int64_t id) const {
    if (id < 0 || id >= end() || !is_used_[static_cast<std::size_t>(id)]) return nullptr;
    return &tokens_[static_cast<std::size_t>(id)];
  }
  /// The largest id + 1.
  std::int64_t end() const { return static_cast<std::int64_t>(tokens_.size()); }
  std::size_t size() const { return ids_.size(); }

 private:
  Vocabulary() = default;
  Status add(std::string token, std::uint32_t id, const std::string& where);
  void reserve(std::size_t ids);

  std::vector<std::string> tokens_;  // by id; never resized once tokens are in, for ids_ has views of them
  std::vector<bool> is_used_;
  std::unordered_map<std::string_view, std::uint32_t> ids_;
};

/// Ids that were found for words before, of one thread at a time.
class WordCache {
 public:
  const std::vector<std::uint32_t>* find(const std::string& word) const {
    const auto found = known_.find(word);
    return found == known_.end() ? nullptr : &found->second;
  }
  /// Long words do not come again; a full cache begins anew.
  void keep(const std::string& word, std::vector<std::uint32_t> ids) {
    if (word.size() > 64) return;
    if (known_.size() == 1 << 16) known_.clear();
    known_.emplace(word, std::move(ids));
  }

 private:
  std::unordered_map<std::string, std::vector<std::uint32_t>> known_;
};

/// Immutable. [any thread]
class Model {
 public:
  virtual ~Model() = default;
  virtual const Vocabulary& vocabulary() const = 0;
  /// Appends the ids of a piece.
  virtual Status encode(const std::string& piece, std::vector<std::uint32_t>& ids) const = 0;
  /// "byte-pair encoding", "WordPiece".
  virtual std::string name() const = 0;
};

/// Byte-pair encoding (arXiv 1508.07909). `object`: the value `model` of a tokenizer.json.
Result<std::unique_ptr<Model>> read_bpe(JsonObject& object);
/// The same from `vocab.json` and the lines of `merges.txt`.
Result<std::unique_ptr<Model>> make_bpe(Vocabulary vocabulary, std::string_view merges, const std::string& where);
/// WordPiece: the longest token that fits, from left to right (arXiv 1609.08144, BERT's tokenization.py).
Result<std::unique_ptr<Model>> read_wordpiece(JsonObject& object);
Result<std::unique_ptr<Model>> make_wordpiece(Vocabulary vocabulary, const std::string& where);

}  // namespace baleen::text
