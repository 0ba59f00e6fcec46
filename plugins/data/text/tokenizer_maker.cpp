/// \file Files in, a tokenizer's file out.
#include "tokenizer_maker.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "baleen/packed.hpp"
#include "file_bytes.hpp"
#include "files.hpp"
#include "tokenizer/trained_tokenizer.hpp"
#include "tokenizer/trainer.hpp"

namespace baleen::text {
namespace {

class Opened : public sdk::OpenedTokenizer {
 public:
  explicit Opened(std::unique_ptr<TrainedTokenizer> tokenizer) : tokenizer_(std::move(tokenizer)) {}
  std::int64_t vocabulary() const override { return tokenizer_->vocabulary(); }
  Result<std::vector<std::int32_t>> encode(std::string_view text, bool framed) const override {
    std::vector<std::uint32_t> ids;
    if (framed) ids = tokenizer_->before();
    BALEEN_TRY(tokenizer_->encode(text, ids));
    if (framed) ids.insert(ids.end(), tokenizer_->after().begin(), tokenizer_->after().end());
    return std::vector<std::int32_t>(ids.begin(), ids.end());
  }
  Result<std::string> decode(std::span<const std::int32_t> ids) const override { return tokenizer_->decode(ids); }
  Result<std::string> token(std::int32_t id) const override {
    std::string text = tokenizer_->token(id);
    if (text.empty()) return invalid("no token has the id " + std::to_string(id));
    return text;
  }

 private:
  std::unique_ptr<TrainedTokenizer> tokenizer_;
};

struct Texts {
  std::vector<FileBytes> contents;
  std::vector<TrainingText> texts;
};

Result<Texts> read_texts(const sdk::TokenizerTraining& training) {
  Texts read;
  const std::vector<std::string_view> entries(training.files.begin(), training.files.end());
  if (entries.empty()) return invalid("there is no text to train on; name files, folders or patterns");
  BALEEN_TRY_ASSIGN(const auto found, find_files(entries, training.folder, {}));
  for (const FoundFile& file : found) {
    BALEEN_TRY_ASSIGN(FileBytes contents, FileBytes::open(file.path));
    const std::string_view text = contents.text();
    const bool binary = text.substr(0, 8192).find('\0') != text.npos;
    const Status packed = sdk::refuse_packed(text, file.path);
    if (!file.named && (text.empty() || binary || !packed)) continue;
    BALEEN_TRY(packed);
    read.contents.push_back(std::move(contents));
    read.texts.push_back({file.path, {}});
  }
  std::size_t size = 0;
  for (std::size_t i = 0; i < read.contents.size(); ++i) {
    read.texts[i].text = read.contents[i].text();  // of its last place: a small file's bytes moved with it
    size += read.texts[i].text.size();
  }
  if (size == 0) return invalid("there is no text to train on: the files are empty or binary", training.files.front());
  return read;
}

/// Beside the file, fsynced, renamed.
Status write_whole(const std::filesystem::path& path, std::string_view bytes) {
  const std::string temporary = path.string() + ".tmp";
  const auto failed = [&](const char* what) {
    const int reason = errno;
    ::unlink(temporary.c_str());
    return Error{BALEEN_IO, std::string(what) + ": " + std::strerror(reason), path.string()};
  };
  const int file = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return failed("cannot write");
  bool good = true;
  for (std::string_view rest = bytes; good && !rest.empty();) {
    const ssize_t written = ::write(file, rest.data(), rest.size());
    good = written >= 0 || errno == EINTR;
    if (written > 0) rest.remove_prefix(static_cast<std::size_t>(written));
  }
  good = good && ::fsync(file) == 0;
  const int reason = errno;
  ::close(file);
  errno = reason;
  if (!good) return failed("cannot write");
  if (::rename(temporary.c_str(), path.c_str()) != 0) return failed("cannot rename the new file to it");
  return {};
}

}  // namespace

std::string_view TokenizerMaker::kinds() { return trained_kinds(); }

Status TokenizerMaker::train(const Host& host, const sdk::TokenizerTraining& training) {
  if (training.out.empty()) return invalid("there is no file to write the tokenizer to");
  const auto out = (std::filesystem::path(training.folder) / training.out).lexically_normal();
  const std::string ending = training.kind == "sentencepiece" ? ".model" : ".json";
  if (out.extension() != ending)
    return invalid("a tokenizer of kind `" + training.kind + "` is written to a file whose name ends in " + ending,
                   out.string());
  BALEEN_TRY_ASSIGN(const Texts texts, read_texts(training));
  const TrainingLog log = [&](const std::string& line) { host.log(BALEEN_INFO, line); };
  BALEEN_TRY_ASSIGN(const std::string bytes,
                    train_tokenizer({training.kind, training.vocabulary, training.options}, texts.texts, log));
  BALEEN_TRY(write_whole(out, bytes));
  BALEEN_TRY_ASSIGN(const auto made, TrainedTokenizer::open(out.string()));
  host.log(BALEEN_INFO,
           "wrote " + out.string() + ": " + made->name() + ", " + std::to_string(made->vocabulary()) + " tokens");
  return {};
}

Result<std::unique_ptr<sdk::OpenedTokenizer>> TokenizerMaker::open(const Host& host, std::string_view path) {
  BALEEN_TRY_ASSIGN(auto tokenizer, TrainedTokenizer::open(std::string(path)));
  for (const std::string& note : tokenizer->notes()) host.log(BALEEN_INFO, note);
  return std::unique_ptr<sdk::OpenedTokenizer>(std::make_unique<Opened>(std::move(tokenizer)));
}

}  // namespace baleen::text
