/// \file Corpus: which files, which of them are text, which part is held out.
#include "corpus.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <set>
#include <span>

#include "baleen/packed.hpp"
#include "files.hpp"

namespace baleen::text {
namespace {

bool looks_binary(std::span<const std::byte> bytes) {
  const auto head = bytes.first(std::min<std::size_t>(bytes.size(), 8192));
  return std::find(head.begin(), head.end(), std::byte{0}) != head.end();
}

Result<Tokenizer> choose_tokenizer(std::string_view option, const std::vector<FoundFile>& files) {
  if (option == "bytes") return Tokenizer::kBytes;
  if (option == "chars") return Tokenizer::kChars;
  if (option == "u16") return Tokenizer::kU16;
  if (option == "llmc") return Tokenizer::kLlmc;
  if (option != "auto") return Tokenizer::kTrained;
  const auto is_bin = [](const FoundFile& file) { return file.path.ends_with(".bin"); };
  if (!std::all_of(files.begin(), files.end(), is_bin)) return Tokenizer::kBytes;
  BALEEN_TRY_ASSIGN(const FileBytes first, FileBytes::open(files.front().path));
  return is_llmc(first.bytes()) ? Tokenizer::kLlmc : Tokenizer::kU16;
}

}  // namespace

Result<Corpus> Corpus::load(const Host& host, const Settings& settings) {
  Corpus corpus;
  BALEEN_TRY(corpus.read(host, settings));
  return corpus;
}

Result<Corpus> Corpus::load(const Host& host, const Settings& settings, const LearnedFacts& given) {
  Corpus corpus;
  corpus.source_ = given.source;
  corpus.all_rows_ = given.takes_all_rows();
  BALEEN_TRY_ASSIGN(corpus.known_, Facts::parse(given.text));
  BALEEN_TRY(corpus.read(host, settings));
  return corpus;
}

Status Corpus::read(const Host& host, const Settings& settings) {
  BALEEN_TRY(open_files(settings));
  BALEEN_TRY(check_tokenizer());
  BALEEN_TRY(read_rules(settings));
  BALEEN_TRY(tokenize(host, settings));
  const bool by_file = settings.integer("held_out_every") > 0 || !settings.text("held_out_path").empty();
  if (!all_rows_ && (!by_file || !source_.empty())) BALEEN_TRY(split_by_fraction(settings.number("held_out")));
  return choose_vocabulary(settings.integer("vocab"));
}

Status Corpus::check_tokenizer() const {
  if (!known_ || known_->tokenizer == tokenizer_name(tokenizer_)) return {};
  return invalid("this text is read as " + std::string(tokenizer_name(tokenizer_)) +
                     ", and what is loaded was trained on " + known_->tokenizer + "; give the job that `tokenizer`",
                 files_.front().path);
}

Facts Corpus::facts() const {
  return {std::string(tokenizer_name(tokenizer_)), tokenizer_ == Tokenizer::kChars ? alphabet_.text() : std::string(),
          vocabulary_};
}

Part Corpus::part(baleen_split_t split) const {
  if (all_rows_) return {&streams_[BALEEN_TRAIN], 0, streams_[BALEEN_TRAIN].size()};
  const std::int64_t train = streams_[BALEEN_TRAIN].size() - kept_back_;
  if (split == BALEEN_TRAIN) return {&streams_[BALEEN_TRAIN], 0, train};
  if (kept_back_ > 0) return {&streams_[BALEEN_TRAIN], train, kept_back_};
  return {&streams_[BALEEN_HELD_OUT], 0, streams_[BALEEN_HELD_OUT].size()};
}

Status Corpus::open_files(const Settings& settings) {
  // All rows are one part; so are those of another source.
  const bool one = all_rows_ || !source_.empty();
  const std::int64_t every = one ? 0 : settings.integer("held_out_every");
  const bool apart = !one && !settings.text("held_out_path").empty();
  if (every > 0 && apart) return invalid("give `held_out_every` or `held_out_path`, not both");
  if (settings.list("path").empty()) return invalid("`path` is empty; name a file, a folder or a pattern");
  // The held-out files come first, so that a folder of both trains on the others.
  if (apart) BALEEN_TRY(add_text(settings, "held_out_path"));
  BALEEN_TRY(add_text(settings, "path"));
  if (every > 0) BALEEN_TRY(hold_out_every(every));
  for (const File& file : files_) ++file_count_[file.held_out ? BALEEN_HELD_OUT : BALEEN_TRAIN];
  if (file_count_[BALEEN_TRAIN] == 0) return invalid("every file is held out; none is left to train on");
  return {};
}

Status Corpus::add_text(const Settings& settings, std::string_view option) {
  auto entries = settings.list(option);
  const auto extensions = settings.list("extensions");
  if (!source_.empty()) entries = {source_};
  BALEEN_TRY_ASSIGN(const auto found, find_files(entries, settings.folder(), extensions));
  // One tokenizer serves both parts: the first list decides.
  if (files_.empty()) {
    BALEEN_TRY_ASSIGN(tokenizer_, choose_tokenizer(settings.text("tokenizer"), found));
  }
  std::set<std::string, std::less<>> known;
  for (const File& file : files_) known.insert(file.path);
  const std::size_t before = files_.size();
  for (const FoundFile& candidate : found) {
    if (known.contains(candidate.path)) continue;
    const bool tokens = is_token_file(tokenizer_);
    if (tokens && !candidate.named && extensions.empty() && !candidate.path.ends_with(".bin")) continue;
    BALEEN_TRY_ASSIGN(FileBytes contents, FileBytes::open(candidate.path));
    if (contents.bytes().empty()) {
      if (candidate.named) return invalid("the file is empty", candidate.path);
      continue;
    }
    if (!tokens) {
      const bool is_wide = contents.text().starts_with("\xff\xfe") || contents.text().starts_with("\xfe\xff");
      const Status text = is_wide ? invalid("is text in UTF-16; save it in UTF-8", candidate.path)
                                  : refuse_packed(contents.text(), candidate.path);
      if (!candidate.named && (!text || looks_binary(contents.bytes()))) continue;
      BALEEN_TRY(text);
    }
    bytes_ += contents.bytes().size();
    files_.push_back({candidate.path, std::move(contents), option == "held_out_path"});
  }
  if (files_.size() == before)
    return invalid("none of the " + std::to_string(found.size()) +
                       " files found is usable: they are empty, binary or " + "held out",
                   std::string(entries.front()));
  return {};
}

Status Corpus::hold_out_every(std::int64_t every) {
  const auto count = static_cast<std::int64_t>(files_.size());
  if (count < every)
    return invalid("`held_out_every` = " + std::to_string(every) + " needs as many files; there are " +
                   std::to_string(count) + ". `held_out` = 0.1 keeps back a part of the text instead");
  for (std::int64_t i = every - 1; i < count; i += every) files_[static_cast<std::size_t>(i)].held_out = true;
  return {};
}

Status Corpus::read_rules(const Settings& settings) {
  const std::string_view documents = settings.text("documents"), separator = settings.text("separator");
  rules_.documents = documents == "files"   ? Documents::files
                     : documents == "lines" ? Documents::lines
                     : documents == "jsonl" ? Documents::jsonl
                                            : Documents::none;
  rules_.field = settings.text("json_field");
  if (rules_.field != "text" && rules_.documents != Documents::jsonl)
    return invalid("`json_field` is for `documents` = \"jsonl\"");
  if (tokenizer_ != Tokenizer::kTrained) {
    if (const std::string_view cache = settings.text("cache"); cache != "beside" && cache != "none")
      return invalid("`cache` is for the tokens that a tokenizer from a file makes; with " +
                     std::string(tokenizer_name(tokenizer_)) + " nothing is kept");
    if (rules_.documents == Documents::none) return {};
    return invalid("`documents` = \"" + std::string(documents) + "\" needs a tokenizer from a file; with " +
                   std::string(tokenizer_name(tokenizer_)) + " give the text that ends a document as `separator`");
  }
  const auto path = std::filesystem::path(settings.folder()) / settings.text("tokenizer");
  BALEEN_TRY_ASSIGN(trained_, TrainedTokenizer::open(path.lexically_normal().string()));
  const std::int64_t token = settings.integer("separator_token");
  if (token >= 0 && !separator.empty()) return invalid("give `separator` or `separator_token`, not both");
  if (token >= 0 && trained_->token(token).empty())
    return invalid("`separator_token` is " + std::to_string(token) + ", which no token has");
  if (token >= 0) rules_.separator = {static_cast<std::uint32_t>(token)};
  if (!separator.empty()) BALEEN_TRY(trained_->encode(separator, rules_.separator));
  if (rules_.documents != Documents::none && rules_.separator.empty())
    return invalid(
        "`documents` = \"" + std::string(documents) +
        "\" needs what stands behind each document: `separator`, as in \"<|endoftext|>\", or `separator_token`");
  return {};
}

std::string Corpus::cache_folder(const Settings& settings) const {
  const std::string_view option = settings.text("cache");
  if (option == "none") return {};
  const std::filesystem::path folder(settings.folder());
  if (option != "beside") return (folder / option).lexically_normal().string();
  std::error_code code;
  const auto first = folder / (source_.empty() ? settings.list("path").front() : std::string_view(source_));
  if (std::filesystem::is_directory(first, code)) return (first / ".baleen").lexically_normal().string();
  const auto train = std::find_if(files_.begin(), files_.end(), [](const File& file) { return !file.held_out; });
  return (std::filesystem::path(train->path).parent_path() / ".baleen").lexically_normal().string();
}

Status Corpus::tokenize_trained(const Host& host, const Settings& settings) {
  for (const std::string& note : trained_->notes()) host.log(BALEEN_INFO, note);
  std::vector<TextFile> files;
  for (const File& file : files_) files.push_back({file.path, file.contents.text()});
  BALEEN_TRY_ASSIGN(tokenized_, TokenizedFiles::make(files, *trained_, rules_, cache_folder(settings), host));
  for (std::size_t i = 0; i < files_.size(); ++i) {
    streams_[files_[i].held_out ? BALEEN_HELD_OUT : BALEEN_TRAIN].append(tokenized_.runs()[i]);
    files_[i].contents = {};
  }
  return {};
}

Status Corpus::tokenize(const Host& host, const Settings& settings) {
  if (tokenizer_ == Tokenizer::kTrained) return tokenize_trained(host, settings);
  if (tokenizer_ == Tokenizer::kChars) return tokenize_characters();
  for (const File& file : files_) {
    BALEEN_TRY_ASSIGN(const Run run, token_run(tokenizer_, file.contents.bytes(), file.path));
    streams_[file.held_out ? BALEEN_HELD_OUT : BALEEN_TRAIN].append(run);
  }
  return {};
}

Status Corpus::tokenize_characters() {
  if (known_) {
    BALEEN_TRY(alphabet_.add(std::as_bytes(std::span(known_->alphabet)), "what is loaded"));
  } else {
    for (const File& file : files_) BALEEN_TRY(alphabet_.add(file.contents.bytes(), file.path));
  }
  alphabet_.seal();
  for (File& file : files_) {
    BALEEN_TRY_ASSIGN(auto ids, alphabet_.encode(file.contents.bytes(), file.path));
    const auto* data = reinterpret_cast<const std::byte*>(ids.data());
    streams_[file.held_out ? BALEEN_HELD_OUT : BALEEN_TRAIN].append({data, static_cast<std::int64_t>(ids.size()), 4});
    ids_.push_back(std::move(ids));
    file.contents = {};
  }
  return {};
}

Status Corpus::split_by_fraction(double fraction) {
  const std::int64_t size = streams_[BALEEN_TRAIN].size();
  kept_back_ = static_cast<std::int64_t>(std::floor(static_cast<double>(size) * fraction));
  return {};
}

Status Corpus::choose_vocabulary(std::int64_t wanted) {
  if (known_ && wanted == 0 && is_token_file(tokenizer_)) wanted = known_->vocabulary;
  std::int64_t needed = trained_ ? trained_->vocabulary() : tokenizer_ == Tokenizer::kBytes ? 256 : alphabet_.size();
  if (is_token_file(tokenizer_)) {
    // A given size spares reading files of many gigabytes at the start; ids are then checked as they are read.
    needed = wanted > 0 ? 0 : std::max(streams_[BALEEN_TRAIN].largest(), streams_[BALEEN_HELD_OUT].largest()) + 1;
  }
  if (needed > std::numeric_limits<std::int32_t>::max())
    return invalid("a token's id is " + std::to_string(needed - 1) + ", beyond 32 bits; is it a token file?",
                   files_.front().path);
  if (wanted > 0 && wanted < needed)
    return invalid("`vocab` = " + std::to_string(wanted) + " is too small for " + std::to_string(needed) + " " +
                   std::string(tokenizer_name(tokenizer_)));
  vocabulary_ = wanted > 0 ? wanted : needed;
  return {};
}

}  // namespace baleen::text
