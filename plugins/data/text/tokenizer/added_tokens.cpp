/// \file Finding added tokens: at each place the longest, from left to right.
#include "added_tokens.hpp"

#include <algorithm>

#include "unicode.hpp"

namespace baleen::text {
namespace {

constexpr std::size_t kMostTokens = 1 << 20, kLongestToken = 4096, kMostBytes = 1 << 20;

/// The beginning of the white space that ends at `end`.
std::size_t space_before(std::string_view text, std::size_t end) {
  while (end > 0 && is_white_space(character_before(text, end))) {
    do --end;
    while ((static_cast<unsigned char>(text[end]) & 0xc0) == 0x80);
  }
  return end;
}

std::size_t space_after(std::string_view text, std::size_t at) {
  for (std::size_t next = at; next < text.size() && is_white_space(take_character(text, next));) at = next;
  return at;
}

bool is_word_at(std::string_view text, std::size_t at) { return at < text.size() && is_word(take_character(text, at)); }

}  // namespace

void AddedTokens::Tree::add(std::string_view content, std::uint32_t id) {
  std::uint32_t node = 0;
  for (const char byte : content) {
    const auto [found, is_new] = nodes_[node].next.emplace(byte, static_cast<std::uint32_t>(nodes_.size()));
    node = found->second;
    if (is_new) nodes_.emplace_back();
  }
  nodes_[node].id = id;
}

std::uint32_t AddedTokens::Tree::longest(std::string_view text, std::size_t at, std::size_t& size) const {
  std::uint32_t node = 0, found = Vocabulary::kNone;
  for (std::size_t i = at; i < text.size(); ++i) {
    const auto next = nodes_[node].next.find(text[i]);
    if (next == nodes_[node].next.end()) break;
    node = next->second;
    if (nodes_[node].id == Vocabulary::kNone) continue;
    found = nodes_[node].id;
    size = i + 1 - at;
  }
  return found;
}

Result<AddedTokens> AddedTokens::read(const Json& json, const Vocabulary& vocabulary, const std::string& where) {
  AddedTokens made;
  if (json.items.size() > kMostTokens)
    return invalid("has " + std::to_string(json.items.size()) + " tokens; 2^20 are allowed", where);
  for (const Json& item : json.items) {
    BALEEN_TRY_ASSIGN(JsonObject object, JsonObject::of(item, where));
    AddedToken token;
    BALEEN_TRY_ASSIGN(token.content, object.text("content"));
    BALEEN_TRY_ASSIGN(const auto id, object.integer("id", 0, (1 << 30) - 1));
    token.id = static_cast<std::uint32_t>(id);
    BALEEN_TRY_ASSIGN(token.single_word, object.boolean_or("single_word", false));
    BALEEN_TRY_ASSIGN(token.left, object.boolean_or("lstrip", false));
    BALEEN_TRY_ASSIGN(token.right, object.boolean_or("rstrip", false));
    BALEEN_TRY_ASSIGN(token.special, object.boolean_or("special", false));
    BALEEN_TRY_ASSIGN(token.normalized, object.boolean_or("normalized", !token.special));
    BALEEN_TRY(object.finish());
    BALEEN_TRY(made.add(std::move(token), vocabulary, where));
  }
  return made;
}

Status AddedTokens::add(AddedToken token, const Vocabulary& vocabulary, const std::string& where) {
  const std::string name = "the added token `" + token.content.substr(0, 80) + "`";
  if (token.content.empty() || token.content.size() > kLongestToken)
    return invalid(name + " has " + std::to_string(token.content.size()) + " bytes; 1 to 4096 are allowed", where);
  const std::string* owner = vocabulary.token(token.id);
  const std::uint32_t known = vocabulary.find(token.content);
  if (owner && *owner != token.content)
    return invalid(
        name + " has the id " + std::to_string(token.id) + ", which is that of `" + owner->substr(0, 80) + "`", where);
  if (known != Vocabulary::kNone && known != token.id)
    return invalid(
        name + " has the id " + std::to_string(token.id) + ", but " + std::to_string(known) + " in the vocabulary",
        where);
  const auto limit = static_cast<std::uint32_t>(2 * vocabulary.size() + 2 * kMostTokens);
  if (token.id >= limit)
    return invalid(
        name + " has the id " + std::to_string(token.id) + "; here it must be below " + std::to_string(limit), where);
  bytes_ += token.content.size();
  if (bytes_ > kMostBytes)
    return invalid("the added tokens have more than " + std::to_string(kMostBytes) + " bytes", where);
  if (by_id_.contains(token.id) || !contents_.insert(token.content).second)
    return invalid(name + " or its id stands twice", where);
  by_id_.emplace(token.id, std::move(token));
  return {};
}

Status AddedTokens::complete(const Normalizers& normalizers) {
  for (const auto& [id, token] : by_id_) {
    if (!token.normalized) {
      raw_.add(token.content, id);
      continue;
    }
    std::string content = token.content;
    BALEEN_TRY(normalize(normalizers, content));
    if (!content.empty()) normalized_.add(content, id);
  }
  return {};
}

void AddedTokens::cut(const Tree& tree, const TextPart& part, std::vector<TextPart>& parts) const {
  const std::string& text = part.text;
  std::size_t begin = 0;  // of what is in no part yet
  const auto add = [&](std::size_t first, std::size_t last, std::uint32_t id) {
    if (first < last) parts.push_back({text.substr(first, last - first), id, part.at_start && first == 0});
  };
  for (std::size_t at = 0; !tree.empty() && at < text.size();) {
    std::size_t size = 0;
    const std::uint32_t id = tree.longest(text, at, size);
    if (id == Vocabulary::kNone) {
      ++at;
      continue;
    }
    const AddedToken& token = by_id_.at(id);
    std::size_t first = at, last = at + size;
    at = last;
    if (first < begin) continue;  // the token before took it with the white space behind
    const bool in_word = (first > 0 && is_word(character_before(text, first))) || is_word_at(text, last);
    if (token.single_word && in_word) continue;
    if (token.left) first = std::max(space_before(text, first), begin);
    if (token.right) last = space_after(text, last);
    add(begin, first, Vocabulary::kNone);
    add(first, last, id);
    begin = last;
  }
  add(begin, text.size(), Vocabulary::kNone);
}

Status AddedTokens::split(const std::string& text, const Normalizers& normalizers, std::vector<TextPart>& parts) const {
  std::vector<TextPart> raw;
  cut(raw_, {text, Vocabulary::kNone, true}, raw);
  for (TextPart& part : raw) {
    if (part.id != Vocabulary::kNone) {
      parts.push_back(std::move(part));
      continue;
    }
    BALEEN_TRY(normalize(normalizers, part.text));
    if (!part.text.empty()) cut(normalized_, part, parts);
  }
  return {};
}

const AddedToken* AddedTokens::find(std::int64_t id) const {
  if (id < 0 || id >= end()) return nullptr;
  const auto found = by_id_.find(static_cast<std::uint32_t>(id));
  return found == by_id_.end() ? nullptr : &found->second;
}

}  // namespace baleen::text
