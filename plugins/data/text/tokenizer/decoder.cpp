/// \file The steps, and reading them.
#include "decoder.hpp"

#include <utility>

#include "pre_tokenizer.hpp"
#include "replace.hpp"
#include "unicode.hpp"

namespace baleen::text {
namespace {

void replace_all(std::string& text, std::string_view what, std::string_view by) {
  for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
}

/// A step that fuses all tokens.
void fuse(std::vector<std::string>& tokens) {
  std::string all;
  for (const std::string& token : tokens) all += token;
  tokens.assign(1, all);
}

struct Fuse : Decoder {
  Status apply(std::vector<std::string>& tokens) const override {
    fuse(tokens);
    return {};
  }
};

struct ByteLevelDecoder : Decoder {
  Status apply(std::vector<std::string>& tokens) const override {
    for (std::string& token : tokens) {
      std::string bytes;
      bool all = true;
      for (std::size_t at = 0; all && at < token.size();) {
        const int byte = byte_of_character(take_character(token, at));
        all = byte >= 0;
        bytes.push_back(static_cast<char>(byte));
      }
      if (all) token = std::move(bytes);  // another token stands for itself
    }
    fuse(tokens);
    return {};
  }
};

/// <0x41> is a byte. Bytes that are no UTF-8 together are U+FFFD each.
struct ByteFallback : Decoder {
  Status apply(std::vector<std::string>& tokens) const override {
    std::vector<std::string> out;
    std::string bytes;
    const auto flush = [&] {
      if (!bytes.empty() && end_of_utf8(bytes) == bytes.size())
        out.push_back(bytes);
      else
        out.insert(out.end(), bytes.size(), "\xef\xbf\xbd");
      bytes.clear();
    };
    for (std::string& token : tokens) {
      if (const int byte = byte_of(token); byte >= 0) {
        bytes.push_back(static_cast<char>(byte));
        continue;
      }
      flush();
      out.push_back(std::move(token));
    }
    flush();
    tokens = std::move(out);
    return {};
  }
  static int digit(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                  : -1;
  }
  static int byte_of(const std::string& token) {
    if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return -1;
    return digit(token[3]) < 0 || digit(token[4]) < 0 ? -1 : digit(token[3]) * 16 + digit(token[4]);
  }
};

struct MetaspaceDecoder : Decoder {
  MetaspaceDecoder(std::string mark, bool drops_first) : mark(std::move(mark)), drops_first(drops_first) {}
  Status apply(std::vector<std::string>& tokens) const override {
    for (std::size_t i = 0; i < tokens.size(); ++i) replace_all(tokens[i], mark, i == 0 && drops_first ? "" : " ");
    return {};
  }
  std::string mark;
  bool drops_first;
};

struct BpeDecoder : Decoder {
  explicit BpeDecoder(std::string suffix) : suffix(std::move(suffix)) {}
  Status apply(std::vector<std::string>& tokens) const override {
    for (std::size_t i = 0; i < tokens.size(); ++i) replace_all(tokens[i], suffix, i + 1 == tokens.size() ? "" : " ");
    return {};
  }
  std::string suffix;
};

struct WordPieceDecoder : Decoder {
  WordPieceDecoder(std::string prefix, bool cleans) : prefix(std::move(prefix)), cleans(cleans) {}
  Status apply(std::vector<std::string>& tokens) const override {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if (i > 0) {
        if (tokens[i].starts_with(prefix))
          tokens[i].erase(0, prefix.size());
        else
          tokens[i].insert(0, " ");
      }
      if (cleans) clean(tokens[i]);
    }
    return {};
  }
  /// What English has no space before.
  static void clean(std::string& token) {
    constexpr std::pair<const char*, const char*> kPairs[] = {
        {" .", "."},   {" ?", "?"},           {" !", "!"},   {" ,", ","},     {" ' ", "'"},   {" n't", "n't"},
        {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
    for (const auto& [from, to] : kPairs) replace_all(token, from, to);
  }
  std::string prefix;
  bool cleans;
};

struct ReplaceInTokens : Decoder {
  explicit ReplaceInTokens(Replacement replacement) : replacement(std::move(replacement)) {}
  Status apply(std::vector<std::string>& tokens) const override {
    for (std::string& token : tokens) BALEEN_TRY(replacement.apply(token));
    return {};
  }
  Replacement replacement;
};

/// Takes up to `start` and `stop` characters `content` from the ends of each token.
struct StripTokens : Decoder {
  StripTokens(std::string content, std::size_t start, std::size_t stop)
      : content(std::move(content)), start(start), stop(stop) {}
  Status apply(std::vector<std::string>& tokens) const override {
    for (std::string& token : tokens) {
      for (std::size_t i = 0; i < start && token.starts_with(content); ++i) token.erase(0, content.size());
      for (std::size_t i = 0; i < stop && token.ends_with(content); ++i) token.resize(token.size() - content.size());
    }
    return {};
  }
  std::string content;
  std::size_t start, stop;
};

template <class Step>
std::unique_ptr<Decoder> made(Step step) {
  return std::make_unique<Step>(std::move(step));
}

Result<std::unique_ptr<Decoder>> read_metaspace(JsonObject& object) {
  BALEEN_TRY_ASSIGN(std::string mark, object.text_or("replacement", "\xe2\x96\x81"));
  BALEEN_TRY(object.boolean_or("split", true));
  BALEEN_TRY_ASSIGN(bool drops, object.boolean_or("add_prefix_space", true));
  if (object.find("prepend_scheme")) {
    BALEEN_TRY_ASSIGN(const std::size_t word, object.word("prepend_scheme", {"always", "never", "first"}));
    drops = word != 1;
  }
  if (mark.empty()) return invalid("is empty", object.where("replacement"));
  return made(MetaspaceDecoder(std::move(mark), drops));
}

Result<std::unique_ptr<Decoder>> read_strip(JsonObject& object) {
  BALEEN_TRY_ASSIGN(std::string content, object.text("content"));
  BALEEN_TRY_ASSIGN(const auto start, object.integer("start", 0, 1000));
  BALEEN_TRY_ASSIGN(const auto stop, object.integer("stop", 0, 1000));
  if (content.empty()) return invalid("is empty", object.where("content"));
  return made(StripTokens(std::move(content), static_cast<std::size_t>(start), static_cast<std::size_t>(stop)));
}

Result<std::unique_ptr<Decoder>> read_step(const std::string& type, JsonObject& object) {
  if (type == "ByteLevel") {
    for (const char* key : {"add_prefix_space", "trim_offsets", "use_regex"})  // of the cutting, not of the joining
      BALEEN_TRY(object.boolean_or(key, true));
    return made(ByteLevelDecoder());
  }
  if (type == "ByteFallback") return made(ByteFallback());
  if (type == "Fuse") return made(Fuse());
  if (type == "Metaspace") return read_metaspace(object);
  if (type == "Strip") return read_strip(object);
  if (type == "BPEDecoder") {
    BALEEN_TRY_ASSIGN(std::string suffix, object.text_or("suffix", "</w>"));
    if (suffix.empty()) return invalid("is empty", object.where("suffix"));
    return made(BpeDecoder(std::move(suffix)));
  }
  if (type == "WordPiece") {
    BALEEN_TRY_ASSIGN(std::string prefix, object.text_or("prefix", "##"));
    BALEEN_TRY_ASSIGN(const bool cleans, object.boolean_or("cleanup", true));
    return made(WordPieceDecoder(std::move(prefix), cleans));
  }
  if (type == "Replace") {
    BALEEN_TRY_ASSIGN(Replacement replacement, Replacement::read(object));
    return made(ReplaceInTokens(std::move(replacement)));
  }
  return unsupported("the decoder `" + type.substr(0, 80) + "` is not supported; known are BPEDecoder, ByteFallback, " +
                         "ByteLevel, Fuse, Metaspace, Replace, Sequence, Strip and WordPiece",
                     object.where());
}

Status read_decoders(const Json& json, const std::string& where, Decoders& steps) {
  BALEEN_TRY_ASSIGN(JsonObject object, JsonObject::of(json, where));
  BALEEN_TRY_ASSIGN(const std::string type, object.text("type"));
  if (type == "Sequence") {
    BALEEN_TRY_ASSIGN(const Json* list, object.at("decoders", Json::Kind::array));
    for (const Json& item : list->items) BALEEN_TRY(read_decoders(item, where, steps));
  } else {
    BALEEN_TRY_ASSIGN(auto step, read_step(type, object));
    steps.push_back(std::move(step));
  }
  return object.finish();
}

/// What null means.
struct Spaces : Decoder {
  Status apply(std::vector<std::string>& tokens) const override {
    for (std::size_t i = 1; i < tokens.size(); ++i) tokens[i].insert(0, " ");
    return {};
  }
};

}  // namespace

Decoders byte_level_decoder() {
  Decoders steps;
  steps.push_back(made(ByteLevelDecoder()));
  return steps;
}

Decoders wordpiece_decoder() {
  Decoders steps;
  steps.push_back(made(WordPieceDecoder("##", true)));
  return steps;
}

Result<Decoders> read_decoder(const Json& json, const std::string& where) {
  Decoders steps;
  if (json.kind == Json::Kind::null)
    steps.push_back(made(Spaces()));
  else
    BALEEN_TRY(read_decoders(json, where, steps));
  return steps;
}

Result<std::string> decode_tokens(const Decoders& steps, std::vector<std::string> tokens) {
  for (const auto& step : steps) BALEEN_TRY(step->apply(tokens));
  fuse(tokens);
  return std::move(tokens.front());
}

}  // namespace baleen::text
