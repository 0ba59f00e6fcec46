/// \file The data plugin `text`: next-token prediction over text files and token files.
#include <cstdio>

#include "corpus.hpp"
#include "tokenizer_maker.hpp"
#include "windows.hpp"

BALEEN_DESCRIPTOR(
    "data", "text", "1.0.0", "Apache-2.0", "Text and token files, for next-token prediction", 0, "txt",
    BALEEN_OPTION("path", BALEEN_OPTION_STRING, BALEEN_OPTION_REQUIRED | BALEEN_OPTION_MANY | BALEEN_OPTION_PATH, 1, 0,
                  "", "", "", "file, folder or pattern, or a list of them"),
    BALEEN_OPTION(
        "tokenizer", BALEEN_OPTION_STRING, BALEEN_OPTION_PATH, 1, 0, "auto", "auto|bytes|chars|u16|llmc", "",
        "what a token is, or a tokenizer's file (tokenizer.json, vocab.json, vocab.txt, .model) or its folder"),
    BALEEN_OPTION("context", BALEEN_OPTION_INT, 0, 1, 1 << 24, "128", "", "", "tokens in a row"),
    BALEEN_OPTION("held_out", BALEEN_OPTION_FLOAT, 0, 0, 0.9, "0.1", "", "",
                  "share at the end that is kept back, unless whole files are (the next two)"),
    BALEEN_OPTION("held_out_every", BALEEN_OPTION_INT, 0, 0, 1 << 30, "0", "", "",
                  "every n-th file is kept back; 0: none"),
    BALEEN_OPTION("held_out_path", BALEEN_OPTION_STRING, BALEEN_OPTION_MANY | BALEEN_OPTION_PATH, 1, 0, "", "", "",
                  "files kept back, as in path; where path names them too they are not trained on"),
    BALEEN_OPTION("extensions", BALEEN_OPTION_STRING, BALEEN_OPTION_MANY, 1, 0, "", "", "",
                  "endings of the files taken from folders and patterns, without dot; none: any"),
    BALEEN_OPTION("shuffle", BALEEN_OPTION_BOOL, 0, 0, 1, "true", "", "",
                  "draw a new order and a new cut for each epoch of the train part"),
    BALEEN_OPTION("vocab", BALEEN_OPTION_INT, 0, 0, 1 << 30, "0", "", "",
                  "size of the vocabulary; 0: as small as the text allows (token files are read through once)"),
    BALEEN_OPTION("separator", BALEEN_OPTION_STRING, 0, 1, 0, "", "", "",
                  "what ends a document; adds the field `documents`, which numbers those of a row (text)"),
    BALEEN_OPTION("separator_token", BALEEN_OPTION_INT, 0, -1, 1 << 30, "-1", "", "",
                  "the same for token files and tokenizers, by its number; -1: none"),
    BALEEN_OPTION("documents", BALEEN_OPTION_STRING, 0, 1, 0, "none", "none|files|lines|jsonl", "",
                  "what gets a separator behind it, with a tokenizer's file; jsonl: the text in each line's object"),
    BALEEN_OPTION("json_field", BALEEN_OPTION_STRING, 0, 1, 0, "text", "", "",
                  "which member of a line's object is text"),
    BALEEN_OPTION("mask_boundaries", BALEEN_OPTION_BOOL, 0, 0, 1, "false", "", "",
                  "targets that begin another document are -1, for losses with ignore_index = -1"),
    BALEEN_OPTION("cache", BALEEN_OPTION_STRING, BALEEN_OPTION_PATH, 1, 0, "beside", "beside|none", "",
                  "the folder of the ids that a tokenizer's file made; beside: .baleen by the text; none: in memory"));

namespace baleen::text {
namespace {

std::string count_text(std::int64_t count) {
  char text[32];
  const auto number = static_cast<double>(count);
  if (count < 10'000)
    std::snprintf(text, sizeof(text), "%lld", static_cast<long long>(count));
  else if (count < 1'000'000)
    std::snprintf(text, sizeof(text), "%.1f k", number / 1e3);
  else
    std::snprintf(text, sizeof(text), "%.1f M", number / 1e6);
  return text;
}

class TextDataset : public Dataset, public Tokens, public Digested, public Learned {
 public:
  using Tokenizers = TokenizerMaker;

  static Result<std::unique_ptr<TextDataset>> create(const Host& host, const Settings& settings) {
    BALEEN_TRY_ASSIGN(Corpus corpus, Corpus::load(host, settings));
    return over(std::move(corpus), settings, settings.boolean("shuffle"));
  }

  static Result<std::unique_ptr<TextDataset>> take(const Host& host, const Settings& settings,
                                                   const LearnedFacts& given) {
    BALEEN_TRY_ASSIGN(Corpus corpus, Corpus::load(host, settings, given));
    return over(std::move(corpus), settings, settings.boolean("shuffle") && !given.takes_all_rows());
  }

  std::string learned() const override { return corpus_.facts().text(); }
  std::string label(std::int64_t) const override { return {}; }

  Result<baleen_dataset_info_t> info() const override {
    baleen_dataset_info_t info{};
    info.size = sizeof(info);
    info.field_count = separator_.empty() ? 2 : 3;
    info.fields[0] = make_field("tokens", BALEEN_I32, {context_}, {"seq"});
    info.fields[1] = make_field("targets", BALEEN_I32, {context_}, {"seq"});
    if (!separator_.empty()) info.fields[2] = make_field("documents", BALEEN_I32, {context_}, {"seq"});
    for (const baleen_split_t split : {BALEEN_TRAIN, BALEEN_HELD_OUT}) info.rows[split] = windows_[split].rows();
    info.classes = corpus_.vocabulary();
    info.units_per_row = static_cast<double>(context_);
    copy_text(info.unit, "tokens");
    copy_text(info.summary, summary());
    return info;
  }

  Status read(baleen_split_t split, std::int64_t first, std::int64_t count, void* const* buffers) const override {
    const Windows& windows = windows_[split];
    if (windows.rows() == 0) return invalid("there is no held-out text; set `held_out` above 0");
    const Part part = corpus_.part(split);
    const auto context = static_cast<std::size_t>(context_);
    auto* tokens = static_cast<std::int32_t*>(buffers[0]);
    auto* targets = static_cast<std::int32_t*>(buffers[1]);
    for (std::int64_t i = 0; i < count; ++i, tokens += context, targets += context) {
      const std::int64_t start = part.first + windows.start(first + i);
      part.stream->read(start, {tokens, context});
      part.stream->read(start + 1, {targets, context});
      BALEEN_TRY(check({tokens, context}));
      BALEEN_TRY(check({targets + context - 1, 1}));
      if (!separator_.empty())
        number_documents(part, start,
                         {static_cast<std::int32_t*>(buffers[2]) + context * static_cast<std::size_t>(i), context},
                         {targets, masks_ ? context : 0});
    }
    return {};
  }

  Result<std::vector<std::int32_t>> encode(std::string_view text) const override {
    const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
    std::vector<std::int32_t> ids;
    if (corpus_.tokenizer() == Tokenizer::kBytes) {
      for (std::byte byte : bytes) ids.push_back(std::to_integer<std::int32_t>(byte));
      return ids;
    }
    if (const TrainedTokenizer* trained = corpus_.trained()) {
      std::vector<std::uint32_t> numbers;
      BALEEN_TRY(trained->encode(text, numbers));
      ids.assign(numbers.begin(), numbers.end());
      return ids;
    }
    if (corpus_.tokenizer() != Tokenizer::kChars) return no_text();
    BALEEN_TRY_ASSIGN(const auto numbers, corpus_.alphabet().encode(bytes, ""));
    ids.assign(numbers.begin(), numbers.end());
    return ids;
  }

  std::uint64_t digest() const override { return corpus_.digest(); }

  Result<std::string> decode(std::span<const std::int32_t> ids) const override {
    if (corpus_.tokenizer() == Tokenizer::kChars) return corpus_.alphabet().decode(ids);
    if (const TrainedTokenizer* trained = corpus_.trained()) return trained->decode(ids);
    if (corpus_.tokenizer() != Tokenizer::kBytes) return no_text();
    std::string text;
    for (std::int32_t id : ids) {
      if (id < 0 || id > 255) return invalid("token " + std::to_string(id) + " is no byte");
      text.push_back(static_cast<char>(id));
    }
    return text;
  }

 private:
  static Result<std::unique_ptr<TextDataset>> over(Corpus corpus, const Settings& settings, bool shuffle) {
    auto dataset = std::make_unique<TextDataset>();
    dataset->corpus_ = std::move(corpus);
    dataset->context_ = settings.integer("context");
    BALEEN_TRY(dataset->find_separator(settings));
    for (const baleen_split_t split : {BALEEN_TRAIN, BALEEN_HELD_OUT})
      BALEEN_TRY(dataset->cut(split, shuffle && split == BALEEN_TRAIN, settings.seed()));
    return dataset;
  }

  Status find_separator(const Settings& settings) {
    masks_ = settings.boolean("mask_boundaries");
    BALEEN_TRY(read_separator(settings));
    if (masks_ && separator_.empty())
      return invalid("`mask_boundaries` needs what ends a document: `separator` or `separator_token`");
    return {};
  }

  Status read_separator(const Settings& settings) {
    if (corpus_.trained()) {
      separator_.assign(corpus_.separator().begin(), corpus_.separator().end());
      return {};
    }
    const std::string_view text = settings.text("separator");
    const std::int64_t token = settings.integer("separator_token");
    const bool has_text = corpus_.tokenizer() == Tokenizer::kBytes || corpus_.tokenizer() == Tokenizer::kChars;
    if (token >= 0 && has_text)
      return invalid("`separator_token` is for token files; give the text that ends a document as `separator`");
    if (!text.empty() && !has_text)
      return invalid("token files have no text; give the token that ends a document by its number, `separator_token`");
    if (token >= corpus_.vocabulary())
      return invalid("`separator_token` is " + std::to_string(token) + ", but there are " +
                     std::to_string(corpus_.vocabulary()) + " tokens, numbered from 0");
    if (token >= 0) separator_ = {static_cast<std::int32_t>(token)};
    if (text.empty()) return {};
    BALEEN_TRY_ASSIGN(separator_, encode(text));
    return {};
  }

  /// The number of each token's document, from 0 at the row's first one. A separator is its document's end; one that
  /// begins before the row counts where it ends. `start`: of the row in the stream. The target of a separator's end,
  /// which is of another document, becomes -1 where there are `targets`.
  void number_documents(const Part& part, std::int64_t start, std::span<std::int32_t> numbers,
                        std::span<std::int32_t> targets) const {
    const auto length = static_cast<std::int64_t>(separator_.size());
    const std::int64_t first = std::max(part.first, start - (length - 1));
    std::vector<std::int32_t> tokens(static_cast<std::size_t>(start - first) + numbers.size());
    part.stream->read(first, tokens);
    std::int32_t document = 0;
    for (std::size_t at = 0, free = 0; at < tokens.size(); ++at) {
      if (const auto in_row = static_cast<std::int64_t>(at) - (start - first); in_row >= 0)
        numbers[static_cast<std::size_t>(in_row)] = document;
      if (at + 1 < free + separator_.size()) continue;
      if (!std::equal(separator_.begin(), separator_.end(),
                      tokens.begin() + static_cast<std::ptrdiff_t>(at + 1) - length))
        continue;
      if (const auto in_row = static_cast<std::int64_t>(at) - (start - first); in_row >= 0 && !targets.empty())
        targets[static_cast<std::size_t>(in_row)] = -1;
      ++document;
      free = at + 1;  // separators do not overlap
    }
  }

  Status cut(baleen_split_t split, bool shuffle, std::uint64_t seed) {
    const std::int64_t size = corpus_.part(split).size;
    windows_[split] = Windows(size, context_, shuffle, seed);
    if (windows_[split].rows() > 0 || (split == BALEEN_HELD_OUT && size == 0)) return {};
    const bool train = split == BALEEN_TRAIN;
    return invalid(std::string("the ") + (train ? "training" : "held-out") + " text has " + std::to_string(size) +
                   " tokens, but one row needs " + std::to_string(context_ + 1) + " (`context` + 1); give more text, " +
                   "a smaller `context`" + (train ? "" : ", or `held_out` = 0"));
  }

  Status check(std::span<const std::int32_t> ids) const {
    for (std::int32_t id : ids)
      if (id < 0 || id >= corpus_.vocabulary())
        return invalid("the text holds token " + std::to_string(id) + ", but `vocab` is " +
                       std::to_string(corpus_.vocabulary()));
    return {};
  }

  static Error no_text() {
    return unsupported("token files hold numbers whose text is unknown here; train on text (tokenizer = \"bytes\" or " +
                       std::string("\"chars\") to encode and decode"));
  }

  std::string summary() const {
    const std::size_t files = corpus_.file_count(BALEEN_TRAIN) + corpus_.file_count(BALEEN_HELD_OUT);
    std::string text = std::to_string(files) + (files == 1 ? " file" : " files");
    if (const auto held_out = corpus_.file_count(BALEEN_HELD_OUT))
      text += " (" + std::to_string(held_out) + " held out)";
    text += ", " + count_text(static_cast<std::int64_t>(corpus_.bytes())) + "B; " +
            (corpus_.trained() ? corpus_.trained()->name() : std::string(tokenizer_name(corpus_.tokenizer()))) + ": " +
            count_text(corpus_.part(BALEEN_TRAIN).size) + " train, " + count_text(corpus_.part(BALEEN_HELD_OUT).size) +
            " held out; vocabulary " + std::to_string(corpus_.vocabulary());
    return text;
  }

  Corpus corpus_;
  Windows windows_[2];
  std::int64_t context_ = 0;
  std::vector<std::int32_t> separator_;  ///< empty: no documents
  bool masks_ = false;                   ///< targets of other documents
};

}  // namespace
}  // namespace baleen::text

BALEEN_DATA(baleen::text::TextDataset);
