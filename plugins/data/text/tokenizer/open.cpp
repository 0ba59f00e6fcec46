/// \file Opening: which files make a tokenizer, by their names and beginnings.
#include <xxhash.h>

#include <array>
#include <filesystem>
#include <optional>
#include <system_error>

#include "file_bytes.hpp"
#include "json_tree.hpp"
#include "trained_tokenizer.hpp"

namespace baleen::text {

TokenizerResult with_digest(TokenizerResult made, const Digest& digest) {
  if (made) (*made)->digest_ = digest;
  return made;
}

namespace {

namespace fs = std::filesystem;

/// Changes whenever the same files give other ids than before.
constexpr std::string_view kRevision = "ids 1";

Result<FileBytes> open_bounded(const fs::path& path) {
  BALEEN_TRY_ASSIGN(FileBytes file, FileBytes::open(path.string()));
  const std::size_t size = file.bytes().size();
  if (size == 0) return invalid("the file is empty", path.string());
  if (size > TrainedTokenizer::kMostBytes)
    return invalid("has " + std::to_string(size) + " bytes; a tokenizer's file has at most 128 MiB", path.string());
  return file;
}

std::string_view text_of(const FileBytes& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

bool is_there(const fs::path& path) {
  std::error_code code;
  return fs::is_regular_file(path, code);
}

TokenizerResult open_json(const fs::path& path) {
  BALEEN_TRY_ASSIGN(const FileBytes file, open_bounded(path));
  const std::array<std::string_view, 2> texts = {kRevision, text_of(file)};
  // A list of tokens and ids alone needs its merges; a tokenizer.json has both.
  const fs::path merges_path = path.parent_path() / "merges.txt";
  if (path.filename() != "vocab.json" || !is_there(merges_path)) {
    if (path.filename() == "vocab.json") return invalid("beside it is no merges.txt, which it needs", path.string());
    return with_digest(read_tokenizer_json(texts[1], path.string()), digest_of(texts));
  }
  BALEEN_TRY_ASSIGN(const FileBytes merges, open_bounded(merges_path));
  const std::array<std::string_view, 3> three = {kRevision, texts[1], text_of(merges)};
  return with_digest(read_vocab_and_merges(three[1], three[2], path.string(), merges_path.string()), digest_of(three));
}

TokenizerResult open_vocab_txt(const fs::path& path) {
  BALEEN_TRY_ASSIGN(const FileBytes file, open_bounded(path));
  const fs::path config_path = path.parent_path() / "tokenizer_config.json";
  FileBytes config;
  if (is_there(config_path)) {
    BALEEN_TRY_ASSIGN(config, open_bounded(config_path));
  }
  const std::array<std::string_view, 3> texts = {kRevision, text_of(file), text_of(config)};
  return with_digest(read_vocab_txt(texts[1], texts[2], path.string(), config_path.string()), digest_of(texts));
}

TokenizerResult open_model(const fs::path& path) {
  BALEEN_TRY_ASSIGN(const FileBytes file, open_bounded(path));
  const std::array<std::string_view, 2> texts = {kRevision, text_of(file)};
  return with_digest(read_sentencepiece(texts[1], path.string()), digest_of(texts));
}

constexpr std::array kNames = {"tokenizer.json",  "vocab.json",   "vocab.txt",
                               "tokenizer.model", "spiece.model", "sentencepiece.bpe.model"};

}  // namespace

Digest digest_of(std::span<const std::string_view> texts) {
  std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state(XXH3_createState(), &XXH3_freeState);
  XXH3_128bits_reset(state.get());
  for (const std::string_view text : texts) {
    const std::uint64_t size = text.size();
    XXH3_128bits_update(state.get(), &size, sizeof(size));
    XXH3_128bits_update(state.get(), text.data(), text.size());
  }
  const XXH128_hash_t hash = XXH3_128bits_digest(state.get());
  return {hash.low64, hash.high64};
}

TokenizerResult TrainedTokenizer::open(const std::string& given) {
  fs::path path(given);
  std::error_code code;
  if (fs::is_directory(path, code)) {
    for (const char* name : kNames)
      if (is_there(path / name)) return open((path / name).string());
    return Error{BALEEN_NOT_FOUND,
                 "the folder has no tokenizer: none of tokenizer.json, vocab.json, vocab.txt, tokenizer.model, "
                 "spiece.model and sentencepiece.bpe.model",
                 given};
  }
  const std::string ending = path.extension().string();
  if (ending == ".json") return open_json(path);
  if (ending == ".txt") return open_vocab_txt(path);
  if (ending == ".model") return open_model(path);
  return invalid(
      "is no tokenizer's file by its name: it must end in .json (a tokenizer.json, or vocab.json beside "
      "merges.txt), .txt (WordPiece's vocabulary) or .model (SentencePiece)",
      given);
}

}  // namespace baleen::text
