/// \file Byte-pair encoding: the pair of the lowest rank is merged first, of equal ranks the leftmost.
#include <optional>
#include <queue>

#include "model.hpp"
#include "unicode.hpp"

namespace baleen::text {
namespace {

struct Merge {
  std::uint32_t rank, id;
};

std::uint64_t pair_key(std::uint32_t left, std::uint32_t right) { return std::uint64_t{left} << 32 | right; }

struct BpeOptions {
  std::string unknown, prefix, suffix;  ///< "": none
  bool fuses_unknown = false, falls_back_to_bytes = false, ignores_merges = false;
};

/// A word while pairs are merged: a list of ids with links.
class Word {
 public:
  void add(std::uint32_t id) {
    const auto at = static_cast<int>(symbols_.size());
    if (at > 0) symbols_.back().next = at;
    symbols_.push_back({id, at - 1, -1, true});
  }
  std::size_t size() const { return symbols_.size(); }

  void merge(const std::unordered_map<std::uint64_t, Merge>& merges) {
    for (int at = 0; at + 1 < static_cast<int>(symbols_.size()); ++at) push(merges, at);
    while (!queue_.empty()) {
      const Candidate best = queue_.top();
      queue_.pop();
      Symbol& left = symbols_[static_cast<std::size_t>(best.at)];
      if (!left.alive || left.next < 0) continue;
      Symbol& right = symbols_[static_cast<std::size_t>(left.next)];
      if (pair_key(left.id, right.id) != best.pair) continue;  // one side was merged since
      left.id = best.id;
      right.alive = false;
      left.next = right.next;
      if (right.next >= 0) symbols_[static_cast<std::size_t>(right.next)].previous = best.at;
      push(merges, best.at);
      if (left.previous >= 0) push(merges, left.previous);
    }
  }
  void append_to(std::vector<std::uint32_t>& ids) const {
    for (int at = symbols_.empty() ? -1 : 0; at >= 0; at = symbols_[static_cast<std::size_t>(at)].next)
      ids.push_back(symbols_[static_cast<std::size_t>(at)].id);
  }

 private:
  struct Symbol {
    std::uint32_t id;
    int previous, next;
    bool alive;
  };
  struct Candidate {
    std::uint32_t rank, id;
    int at;
    std::uint64_t pair;
    bool operator<(const Candidate& other) const { return rank != other.rank ? rank > other.rank : at > other.at; }
  };
  void push(const std::unordered_map<std::uint64_t, Merge>& merges, int at) {
    const Symbol& left = symbols_[static_cast<std::size_t>(at)];
    if (left.next < 0) return;
    const std::uint64_t pair = pair_key(left.id, symbols_[static_cast<std::size_t>(left.next)].id);
    const auto found = merges.find(pair);
    if (found != merges.end()) queue_.push({found->second.rank, found->second.id, at, pair});
  }

  std::vector<Symbol> symbols_;
  std::priority_queue<Candidate> queue_;
};

class Bpe : public Model {
 public:
  Bpe(Vocabulary vocabulary, BpeOptions options) : vocabulary_(std::move(vocabulary)), options_(std::move(options)) {}

  const Vocabulary& vocabulary() const override { return vocabulary_; }
  std::string name() const override { return "byte-pair encoding"; }

  /// Ranks follow the order of the calls.
  Status add_merge(std::string_view left, std::string_view right, const std::string& where) {
    const std::uint32_t a = vocabulary_.find(left), b = vocabulary_.find(right);
    std::string joined(left);
    if (!options_.prefix.empty() && right.starts_with(options_.prefix)) right.remove_prefix(options_.prefix.size());
    joined += right;
    const std::uint32_t made = vocabulary_.find(joined);
    if (a == Vocabulary::kNone || b == Vocabulary::kNone || made == Vocabulary::kNone)
      return invalid("merge " + std::to_string(merges_.size()) + " is of `" + std::string(left.substr(0, 80)) +
                         "` and `" + std::string(right.substr(0, 80)) + "`, but the vocabulary lacks one of them or `" +
                         joined.substr(0, 160) + "`",
                     where);
    const auto rank = static_cast<std::uint32_t>(merges_.size());
    if (!merges_.emplace(pair_key(a, b), Merge{rank, made}).second)
      return invalid("merge " + std::to_string(rank) + ", of `" + std::string(left.substr(0, 80)) + "` and `" +
                         std::string(right.substr(0, 80)) + "`, stands twice",
                     where);
    return {};
  }
  Status find_unknown(const std::string& where) {
    if (options_.unknown.empty()) return {};
    unknown_ = vocabulary_.find(options_.unknown);
    if (unknown_ != Vocabulary::kNone) return {};
    return invalid("is `" + options_.unknown.substr(0, 80) + "`, which the vocabulary lacks", where);
  }

  Status encode(const std::string& piece, std::vector<std::uint32_t>& ids) const override {
    if (options_.ignores_merges) {
      if (const std::uint32_t whole = vocabulary_.find(piece); whole != Vocabulary::kNone)
        return ids.push_back(whole), Status();
    }
    Word word;
    BALEEN_TRY(spell(piece, word));
    word.merge(merges_);
    word.append_to(ids);
    return {};
  }

 private:
  /// The ids of the characters.
  Status spell(const std::string& piece, Word& word) const {
    bool unknown_waits = false;
    std::string text;
    for (std::size_t at = 0; at < piece.size();) {
      const std::size_t first = at;
      take_character(piece, at);
      text.assign(piece, first, at - first);
      if (first > 0) text.insert(0, options_.prefix);
      if (at == piece.size()) text += options_.suffix;
      if (const std::uint32_t id = vocabulary_.find(text); id != Vocabulary::kNone) {
        if (unknown_waits) word.add(unknown_);
        unknown_waits = false;
        word.add(id);
      } else if (options_.falls_back_to_bytes && spell_bytes(text, word)) {
        continue;
      } else if (unknown_ == Vocabulary::kNone) {
        return invalid("the text has `" + text +
                       "`, for which the tokenizer has no token, and it names no `unk_token`");
      } else {
        if (unknown_waits && !options_.fuses_unknown) word.add(unknown_);
        unknown_waits = true;
      }
    }
    if (unknown_waits) word.add(unknown_);
    return {};
  }
  /// As tokens <0x00> ... <0xFF>; false, and nothing added, where one is missing.
  bool spell_bytes(const std::string& text, Word& word) const {
    constexpr char kDigits[] = "0123456789ABCDEF";
    std::vector<std::uint32_t> ids;
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      ids.push_back(vocabulary_.find(std::string("<0x") + kDigits[byte >> 4] + kDigits[byte & 15] + ">"));
      if (ids.back() == Vocabulary::kNone) return false;
    }
    for (const std::uint32_t id : ids) word.add(id);
    return true;
  }

  Vocabulary vocabulary_;
  BpeOptions options_;
  std::unordered_map<std::uint64_t, Merge> merges_;
  std::uint32_t unknown_ = Vocabulary::kNone;
};

/// "left right", or [left, right].
Status add_merge(Bpe& bpe, const Json& json, const std::string& where) {
  const bool is_pair = json.kind == Json::Kind::array && json.items.size() == 2 &&
                       json.items[0].kind == Json::Kind::string && json.items[1].kind == Json::Kind::string;
  if (is_pair) return bpe.add_merge(json.items[0].text, json.items[1].text, where);
  const std::size_t space = json.text.find(' ');
  if (json.kind != Json::Kind::string || space == std::string::npos ||
      json.text.find(' ', space + 1) != std::string::npos)
    return invalid("has an entry that is neither \"left right\" nor [\"left\", \"right\"]" +
                       (json.kind == Json::Kind::string ? ": `" + json.text.substr(0, 80) + "`" : std::string()),
                   where);
  const std::string_view text = json.text;
  return bpe.add_merge(text.substr(0, space), text.substr(space + 1), where);
}

}  // namespace

Result<std::unique_ptr<Model>> read_bpe(JsonObject& object) {
  BpeOptions options;
  BALEEN_TRY_ASSIGN(options.unknown, object.text_or("unk_token", ""));
  BALEEN_TRY_ASSIGN(options.prefix, object.text_or("continuing_subword_prefix", ""));
  BALEEN_TRY_ASSIGN(options.suffix, object.text_or("end_of_word_suffix", ""));
  BALEEN_TRY_ASSIGN(options.fuses_unknown, object.boolean_or("fuse_unk", false));
  BALEEN_TRY_ASSIGN(options.falls_back_to_bytes, object.boolean_or("byte_fallback", false));
  BALEEN_TRY_ASSIGN(options.ignores_merges, object.boolean_or("ignore_merges", false));
  if (const Json* dropout = object.find("dropout");
      dropout && !(dropout->kind == Json::Kind::number && dropout->number == 0))
    return unsupported("is set: random merges are not supported; set it to null", object.where("dropout"));
  BALEEN_TRY_ASSIGN(const Json* tokens, object.at("vocab", Json::Kind::object));
  BALEEN_TRY_ASSIGN(const Json* merges, object.at("merges", Json::Kind::array));
  BALEEN_TRY_ASSIGN(Vocabulary vocabulary, Vocabulary::read(*tokens, object.where("vocab")));
  auto bpe = std::make_unique<Bpe>(std::move(vocabulary), options);
  BALEEN_TRY(bpe->find_unknown(object.where("unk_token")));
  for (const Json& merge : merges->items) BALEEN_TRY(add_merge(*bpe, merge, object.where("merges")));
  return std::unique_ptr<Model>(std::move(bpe));
}

Result<std::unique_ptr<Model>> make_bpe(Vocabulary vocabulary, std::string_view merges, const std::string& where) {
  if (const std::size_t end = end_of_utf8(merges); end < merges.size())
    return invalid("not UTF-8 at byte " + std::to_string(end), where);
  auto bpe = std::make_unique<Bpe>(std::move(vocabulary), BpeOptions{});
  for (int line = 1; !merges.empty(); ++line) {
    const std::size_t end = std::min(merges.find('\n'), merges.size());
    std::string_view text = merges.substr(0, end);
    merges.remove_prefix(std::min(end + 1, merges.size()));
    if (text.ends_with('\r')) text.remove_suffix(1);
    if (text.empty() || (line == 1 && text.starts_with("#version"))) continue;
    const std::size_t space = text.find(' ');
    const std::string place = where + ":" + std::to_string(line);
    if (space == text.npos || text.find(' ', space + 1) != text.npos)
      return invalid("`" + std::string(text.substr(0, 80)) + "` is no merge; a line has two tokens and a space", place);
    BALEEN_TRY(bpe->add_merge(text.substr(0, space), text.substr(space + 1), place));
  }
  return std::unique_ptr<Model>(std::move(bpe));
}

}  // namespace baleen::text
