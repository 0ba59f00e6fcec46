/// \file The steps that cut.
#include "pre_tokenizer.hpp"

#include "pre_tokenizer_steps.hpp"
#include "replace.hpp"
#include "unicode.hpp"

namespace baleen::text {
namespace {

constexpr const char* kGpt2 = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

/// The characters for which `holds`, each a match.
template <class Holds>
void find_characters(std::string_view text, std::vector<Span>& matches, Holds holds) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t first = at;
    if (holds(take_character(text, at))) matches.push_back({first, at});
  }
}

/// Cuts at a pattern of a file.
struct Split : Cut {
  Split(Pattern pattern, Behaviour behaviour, bool inverts) : Cut(behaviour, inverts), pattern(std::move(pattern)) {}
  Status find(std::string_view text, std::vector<Span>& matches) const override { return pattern.find(text, matches); }
  Pattern pattern;
};

/// Cuts at characters.
struct CharacterCut : Cut {
  using Holds = bool (*)(char32_t);
  CharacterCut(Holds holds, Behaviour behaviour) : Cut(behaviour, false), holds(holds) {}
  Status find(std::string_view text, std::vector<Span>& matches) const override {
    find_characters(text, matches, holds);
    return {};
  }
  Holds holds;
};

/// `\w+|[^\w\s]+`, what is left is dropped.
struct Whitespace : Cut {
  Whitespace() : Cut(Behaviour::removed, true) {}
  Status find(std::string_view text, std::vector<Span>& matches) const override {
    int last = 0;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t first = at;
      const char32_t code = take_character(text, at);
      const int kind = is_word(code) ? 1 : is_white_space(code) ? 0 : 2;
      if (kind != 0 && kind == last)
        matches.back().last = at;
      else if (kind != 0)
        matches.push_back({first, at});
      last = kind;
    }
    return {};
  }
};

struct ByteLevel : PreTokenizer {
  ByteLevel(bool adds_space, std::unique_ptr<Split> split) : adds_space(adds_space), split(std::move(split)) {}
  Status apply(Pieces& pieces) const override {
    if (adds_space)
      for (Piece& piece : pieces)
        if (!piece.text.starts_with(' ')) piece.text.insert(0, 1, ' ');
    if (split) BALEEN_TRY(split->apply(pieces));
    for (Piece& piece : pieces) {
      std::string written;
      written.reserve(piece.text.size() * 2);
      for (const char byte : piece.text) append_byte_character(written, static_cast<unsigned char>(byte));
      piece.text = std::move(written);
    }
    return {};
  }
  bool adds_space;
  std::unique_ptr<Split> split;  ///< null: nothing is cut
};

struct Metaspace : PreTokenizer {
  enum class Scheme { always, never, first };
  Metaspace(const std::string& mark, Scheme scheme, bool splits)
      : mark(mark), scheme(scheme), split(splits ? new Split(Pattern(mark), Behaviour::with_next, false) : nullptr) {}
  Status apply(Pieces& pieces) const override {
    for (Piece& piece : pieces) {
      std::string written;
      for (const char byte : piece.text) byte == ' ' ? written += mark : written += byte;
      const bool prepends = scheme == Scheme::always || (scheme == Scheme::first && piece.at_start);
      if (prepends && !written.starts_with(mark)) written.insert(0, mark);
      piece.text = std::move(written);
    }
    return split ? split->apply(pieces) : Status();
  }
  std::string mark;
  Scheme scheme;
  std::unique_ptr<Split> split;
};

Result<Behaviour> read_behaviour(JsonObject& object, std::string_view fallback) {
  if (!object.find("behavior")) {
    if (fallback.empty()) BALEEN_TRY(object.text("behavior"));
    return Behaviour::isolated;
  }
  BALEEN_TRY_ASSIGN(const std::size_t word, object.word("behavior", {"Removed", "Isolated", "MergedWithPrevious",
                                                                     "MergedWithNext", "Contiguous"}));
  return static_cast<Behaviour>(word);
}

Result<std::unique_ptr<PreTokenizer>> read_byte_level(JsonObject& object) {
  BALEEN_TRY_ASSIGN(const bool adds_space, object.boolean_or("add_prefix_space", true));
  BALEEN_TRY_ASSIGN(const bool cuts, object.boolean_or("use_regex", true));
  BALEEN_TRY(object.boolean_or("trim_offsets", true));  // places in the text, which ids do not show
  std::unique_ptr<Split> split;
  if (cuts) {
    BALEEN_TRY_ASSIGN(Regex regex, Regex::compile(kGpt2, object.where()));
    split = std::make_unique<Split>(Pattern(std::move(regex)), Behaviour::isolated, false);
  }
  return std::unique_ptr<PreTokenizer>(std::make_unique<ByteLevel>(adds_space, std::move(split)));
}

Result<std::unique_ptr<PreTokenizer>> read_metaspace(JsonObject& object) {
  BALEEN_TRY_ASSIGN(const std::string mark, object.text_or("replacement", "\xe2\x96\x81"));
  BALEEN_TRY_ASSIGN(const bool splits, object.boolean_or("split", true));
  std::size_t at = 0;
  if (mark.empty() || (take_character(mark, at), at != mark.size()))
    return invalid("is `" + mark.substr(0, 40) + "`; it must be one character", object.where("replacement"));
  auto scheme = Metaspace::Scheme::always;
  BALEEN_TRY_ASSIGN(const bool adds, object.boolean_or("add_prefix_space", true));  // before `prepend_scheme`
  if (!adds) scheme = Metaspace::Scheme::never;
  if (object.find("prepend_scheme")) {
    BALEEN_TRY_ASSIGN(const std::size_t word, object.word("prepend_scheme", {"always", "never", "first"}));
    scheme = static_cast<Metaspace::Scheme>(word);
  }
  return std::unique_ptr<PreTokenizer>(std::make_unique<Metaspace>(mark, scheme, splits));
}

Result<std::unique_ptr<PreTokenizer>> read_split(JsonObject& object) {
  BALEEN_TRY_ASSIGN(Pattern pattern, Pattern::read(object));
  BALEEN_TRY_ASSIGN(const Behaviour behaviour, read_behaviour(object, ""));
  BALEEN_TRY_ASSIGN(const bool inverts, object.boolean_or("invert", false));
  return std::unique_ptr<PreTokenizer>(std::make_unique<Split>(std::move(pattern), behaviour, inverts));
}

Status read_into(const Json& json, const std::string& where, PreTokenizers& steps);

Status read_step(const std::string& type, JsonObject& object, PreTokenizers& steps) {
  const auto add = [&](Result<std::unique_ptr<PreTokenizer>> step) -> Status {
    BALEEN_TRY_ASSIGN(auto made, std::move(step));
    steps.push_back(std::move(made));
    return {};
  };
  const auto cut = [&](CharacterCut::Holds holds, Behaviour behaviour) {
    steps.push_back(std::make_unique<CharacterCut>(holds, behaviour));
    return Status();
  };
  if (type == "ByteLevel") return add(read_byte_level(object));
  if (type == "Metaspace") return add(read_metaspace(object));
  if (type == "Split") return add(read_split(object));
  if (type == "WhitespaceSplit") return cut(is_white_space, Behaviour::removed);
  if (type == "Whitespace") return steps.push_back(std::make_unique<Whitespace>()), Status();
  if (type == "Punctuation") {
    BALEEN_TRY_ASSIGN(const Behaviour behaviour, read_behaviour(object, "Isolated"));
    return cut(is_old_punctuation, behaviour);
  }
  if (type == "Digits") {
    BALEEN_TRY_ASSIGN(const bool individual, object.boolean_or("individual_digits", false));
    return cut(is_numeric, individual ? Behaviour::isolated : Behaviour::contiguous);
  }
  if (type == "BertPreTokenizer") {
    for (auto& step : bert_pre_tokenizer()) steps.push_back(std::move(step));
    return {};
  }
  if (type == "Sequence") {
    BALEEN_TRY_ASSIGN(const Json* list, object.at("pretokenizers", Json::Kind::array));
    for (const Json& item : list->items) BALEEN_TRY(read_into(item, object.where(), steps));
    return {};
  }
  return unsupported("the pre-tokenizer `" + type.substr(0, 80) + "` is not supported; known are BertPreTokenizer, " +
                         "ByteLevel, Digits, Metaspace, Punctuation, Sequence, Split, Whitespace and WhitespaceSplit",
                     object.where());
}

Status read_into(const Json& json, const std::string& where, PreTokenizers& steps) {
  BALEEN_TRY_ASSIGN(JsonObject object, JsonObject::of(json, where));
  BALEEN_TRY_ASSIGN(const std::string type, object.text("type"));
  BALEEN_TRY(read_step(type, object, steps));
  return object.finish();
}

/// The bytes that stand for themselves; the others are written as the characters from U+0100 on, in their order.
constexpr bool stands_for_itself(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

}  // namespace

void append_byte_character(std::string& out, unsigned char byte) {
  if (stands_for_itself(byte)) return append_utf8(out, byte);
  // 0x00 ... 0x20, 0x7f ... 0xa0, 0xad
  const unsigned number = byte <= 0x20 ? byte : byte <= 0xa0 ? byte - 0x7fu + 0x21u : 0x43u;
  append_utf8(out, 0x100 + number);
}

int byte_of_character(char32_t code) {
  if (code < 0x100) return stands_for_itself(code) ? static_cast<int>(code) : -1;
  const char32_t number = code - 0x100;
  if (number <= 0x20) return static_cast<int>(number);
  if (number <= 0x42) return static_cast<int>(number - 0x21 + 0x7f);
  return number == 0x43 ? 0xad : -1;
}

Result<PreTokenizers> read_pre_tokenizer(const Json& json, const std::string& where) {
  PreTokenizers steps;
  if (json.kind != Json::Kind::null) BALEEN_TRY(read_into(json, where, steps));
  return steps;
}

Result<PreTokenizers> gpt2_pre_tokenizer() {
  BALEEN_TRY_ASSIGN(Regex regex, Regex::compile(kGpt2, "GPT-2"));
  PreTokenizers steps;
  steps.push_back(std::make_unique<ByteLevel>(
      false, std::make_unique<Split>(Pattern(std::move(regex)), Behaviour::isolated, false)));
  return steps;
}

PreTokenizers bert_pre_tokenizer() {
  PreTokenizers steps;
  steps.push_back(std::make_unique<CharacterCut>(is_white_space, Behaviour::removed));
  steps.push_back(std::make_unique<CharacterCut>(is_old_punctuation, Behaviour::isolated));
  return steps;
}

Status pre_tokenize(const PreTokenizers& steps, Pieces& pieces) {
  for (const auto& step : steps) BALEEN_TRY(step->apply(pieces));
  return {};
}

}  // namespace baleen::text
