/// \file WordPiece: greedy, the longest token first.
#include "model.hpp"
#include "unicode.hpp"

namespace baleen::text {
namespace {

class WordPiece : public Model {
 public:
  WordPiece(Vocabulary vocabulary, std::uint32_t unknown, std::string prefix, std::size_t longest)
      : vocabulary_(std::move(vocabulary)), unknown_(unknown), prefix_(std::move(prefix)), longest_(longest) {}

  const Vocabulary& vocabulary() const override { return vocabulary_; }
  std::string name() const override { return "WordPiece"; }

  Status encode(const std::string& piece, std::vector<std::uint32_t>& ids) const override {
    const std::size_t before = ids.size();
    std::vector<std::size_t> ends;  // of characters
    for (std::size_t at = 0; at < piece.size() && ends.size() <= longest_;)
      take_character(piece, at), ends.push_back(at);
    std::size_t first = 0, character = 0;
    while (ends.size() <= longest_ && first < piece.size()) {
      std::size_t last = ends.size();
      std::uint32_t id = Vocabulary::kNone;
      for (; last > character && id == Vocabulary::kNone; --last) {
        const std::string text = piece.substr(first, ends[last - 1] - first);
        id = vocabulary_.find(first > 0 ? prefix_ + text : text);
      }
      if (id == Vocabulary::kNone) break;
      ids.push_back(id);
      character = last + 1;
      first = ends[last];
    }
    if (first == piece.size() && ends.size() <= longest_) return {};
    ids.resize(before);  // a word that cannot be spelled is unknown as a whole
    ids.push_back(unknown_);
    return {};
  }

 private:
  Vocabulary vocabulary_;
  std::uint32_t unknown_;
  std::string prefix_;
  std::size_t longest_;
};

Result<std::unique_ptr<Model>> make(Vocabulary vocabulary, const std::string& unknown, const std::string& prefix,
                                    std::size_t longest, const std::string& where) {
  const std::uint32_t id = vocabulary.find(unknown);
  if (id == Vocabulary::kNone)
    return invalid("the vocabulary has no `" + unknown.substr(0, 80) + "`, the token for words that cannot be spelled",
                   where);
  return std::unique_ptr<Model>(std::make_unique<WordPiece>(std::move(vocabulary), id, prefix, longest));
}

}  // namespace

Result<std::unique_ptr<Model>> read_wordpiece(JsonObject& object) {
  BALEEN_TRY_ASSIGN(const std::string unknown, object.text_or("unk_token", "[UNK]"));
  BALEEN_TRY_ASSIGN(const std::string prefix, object.text_or("continuing_subword_prefix", "##"));
  BALEEN_TRY_ASSIGN(const std::int64_t longest, object.integer_or("max_input_chars_per_word", 1, 10000, 100));
  BALEEN_TRY_ASSIGN(const Json* tokens, object.at("vocab", Json::Kind::object));
  BALEEN_TRY_ASSIGN(Vocabulary vocabulary, Vocabulary::read(*tokens, object.where("vocab")));
  return make(std::move(vocabulary), unknown, prefix, static_cast<std::size_t>(longest), object.where());
}

Result<std::unique_ptr<Model>> make_wordpiece(Vocabulary vocabulary, const std::string& where) {
  return make(std::move(vocabulary), "[UNK]", "##", 100, where);
}

}  // namespace baleen::text
