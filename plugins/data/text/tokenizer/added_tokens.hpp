/// \file Tokens that are found in the text itself, before it is cut: `<|endoftext|>`, `[MASK]`.
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "model.hpp"
#include "normalizer.hpp"

namespace baleen::text {

struct AddedToken {
  std::string content;
  std::uint32_t id = 0;
  bool single_word = false;          ///< not within a word
  bool left = false, right = false;  ///< takes white space beside it
  bool normalized = false;           ///< sought in the normalised text
  bool special = false;
};

/// A part of a text: an added token, or what lies between.
struct TextPart {
  std::string text;
  std::uint32_t id = Vocabulary::kNone;
  bool at_start = false;
};

/// Immutable once complete. [any thread]
class AddedTokens {
 public:
  /// The value `added_tokens` of a tokenizer.json. Fails on a token or an id that stands twice, or that the vocabulary
  /// has otherwise.
  static Result<AddedTokens> read(const Json& json, const Vocabulary& vocabulary, const std::string& where);
  Status add(AddedToken token, const Vocabulary& vocabulary, const std::string& where);
  /// Call after the last: `normalizers` are applied to those that are sought in normalised text.
  Status complete(const Normalizers& normalizers);

  /// The text cut at the tokens, normalised between them.
  Status split(const std::string& text, const Normalizers& normalizers, std::vector<TextPart>& parts) const;
  /// Null where no added token has the id.
  const AddedToken* find(std::int64_t id) const;
  /// The largest id + 1.
  std::int64_t end() const { return by_id_.empty() ? 0 : std::int64_t{by_id_.rbegin()->first} + 1; }

 private:
  /// The longest token that begins at a place of a text: a tree of bytes.
  class Tree {
   public:
    void add(std::string_view content, std::uint32_t id);
    /// kNone where there is none; `size`: of the match.
    std::uint32_t longest(std::string_view text, std::size_t at, std::size_t& size) const;
    bool empty() const { return nodes_.size() < 2; }

   private:
    struct Node {
      std::map<char, std::uint32_t> next;
      std::uint32_t id = Vocabulary::kNone;
    };
    std::vector<Node> nodes_ = std::vector<Node>(1);
  };
  void cut(const Tree& tree, const TextPart& part, std::vector<TextPart>& parts) const;

  std::map<std::uint32_t, AddedToken> by_id_;
  std::set<std::string, std::less<>> contents_;
  std::size_t bytes_ = 0;  // of all contents
  Tree raw_, normalized_;
};

}  // namespace baleen::text
