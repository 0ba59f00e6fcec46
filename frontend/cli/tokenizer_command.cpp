/// \file `baleen tokenizer`: trains tokenizers through a data plugin, and shows what they make of a text.
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <utility>

#include "baleen/plugin.hpp"
#include "core/input/file_text.hpp"
#include "core/log/printed.hpp"
#include "frontend/cli/commands.hpp"
#include "frontend/cli/exit_code.hpp"
#include "frontend/engine/tokenizers.hpp"

namespace baleen::app {
namespace {

std::string joined_lines(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += word + "\n";
  return text;
}

Status train(const TokenizerOptions& options, const TokenizerPlugin& plugin) {
  for (const auto& list : {options.words, options.options})
    for (const std::string& word : list)
      if (word.find('\n') != word.npos) return invalid("a line break cannot stand in `" + word + "`");
  const std::string files = joined_lines(options.words), more = joined_lines(options.options);
  const std::string out = options.out.string(), folder = std::filesystem::current_path().string();
  baleen_tokenizer_training_t training{};
  training.kind = abi(options.kind);
  training.vocabulary = options.vocabulary;
  training.files = abi(files);
  training.out = abi(out);
  training.folder = abi(folder);
  training.options = abi(more);
  return plugin.train(training);
}

/// A line of the text at a time, the last with or without its end.
template <class Call>
Status for_each_line(std::string_view text, Call call) {
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (const Status status = call(text.substr(0, end)); !status)
      return Error{status.error().code, status.error().message, "line " + std::to_string(number)};
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return {};
}

Status print_ids(const Tokenizer& tokenizer, const TokenizerOptions& options, std::string_view text) {
  BALEEN_TRY_ASSIGN(const auto ids, tokenizer.encode(text, options.framed));
  std::string out;
  for (const std::int32_t id : ids) {
    if (options.shows) {
      BALEEN_TRY_ASSIGN(const std::string token, tokenizer.token(id));
      out += std::to_string(id) + "\t" + token + "\n";
    } else {
      out += (out.empty() ? "" : " ") + std::to_string(id);
    }
  }
  if (!options.shows) out += '\n';
  print_text(out);
  return {};
}

Status print_decoded(const Tokenizer& tokenizer, std::string_view numbers) {
  std::vector<std::int32_t> ids;
  const char* const end = numbers.data() + numbers.size();
  for (const char* at = numbers.data(); at != end;) {
    if (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r' || *at == ',') {
      ++at;
      continue;
    }
    std::int32_t id = 0;
    const auto [next, code] = std::from_chars(at, end, id);
    if (code != std::errc())
      return invalid("`" + std::string(at, std::min<std::ptrdiff_t>(end - at, 20)) + "` is no number of 32 bits");
    ids.push_back(id);
    at = next;
  }
  BALEEN_TRY_ASSIGN(std::string text, tokenizer.decode(ids));
  text += '\n';
  print_text(text);
  return {};
}

Status apply(const TokenizerOptions& options, const Tokenizer& tokenizer) {
  const bool encodes = options.what == "encode";
  if (!encodes && !options.words.empty()) {
    std::string numbers;
    for (const std::string& word : options.words) numbers += word + " ";
    return print_decoded(tokenizer, numbers);
  }
  std::vector<std::pair<std::string, std::string>> texts;  // with their paths
  for (const std::string& path : options.words) {
    BALEEN_TRY_ASSIGN(std::string text, file_text(path, FileKinds::streaming));
    texts.emplace_back(path, std::move(text));
  }
  if (options.words.empty())
    texts.emplace_back("standard input", std::string(std::istreambuf_iterator<char>(std::cin), {}));
  const auto one = [&](std::string_view text) {
    return encodes ? print_ids(tokenizer, options, text) : print_decoded(tokenizer, text);
  };
  for (const auto& [path, text] : texts)
    if (const Status status = options.whole ? one(text) : for_each_line(text, one); !status)
      return Error{status.error().code, status.error().text(), path};
  return {};
}

Status perform(const TokenizerOptions& options, const Setup& setup) {
  BALEEN_TRY_ASSIGN(TokenizerPlugin plugin, TokenizerPlugin::find(setup.registry, options.plugin));
  if (options.what == "kinds") {
    print_out("%s\n", plugin.kinds().c_str());
    return {};
  }
  if (options.what == "train") return train(options, plugin);
  BALEEN_TRY_ASSIGN(const Tokenizer tokenizer, Tokenizer::open(std::move(plugin), options.tokenizer.string()));
  return apply(options, tokenizer);
}

}  // namespace

int tokenizer_command(const TokenizerOptions& options, const Setup& setup) {
  const Status status = perform(options, setup);
  return status ? kSuccess : report(setup.log, status.error());
}

}  // namespace baleen::app
