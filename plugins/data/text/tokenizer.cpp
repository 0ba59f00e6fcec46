/// \file Alphabets, and the headers of token files.
#include "tokenizer.hpp"

#include <cstring>

#include "tokenizer/unicode.hpp"

namespace baleen::text {
namespace {

constexpr std::size_t kLlmcHeader = 256 * sizeof(std::int32_t);

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Error not_utf8(std::size_t at, const std::string& path) {
  return invalid("not UTF-8 at byte " + std::to_string(at) + "; use tokenizer = \"bytes\"", path);
}

Result<Run> llmc_run(std::span<const std::byte> bytes, const std::string& path) {
  if (bytes.size() < kLlmcHeader)
    return invalid("has " + std::to_string(bytes.size()) + " bytes, less than the 1024 of an llm.c header", path);
  std::int32_t header[3];
  std::memcpy(header, bytes.data(), sizeof(header));
  const bool narrow = header[0] == 20240520 && header[1] == 1, wide = header[0] == 20240801 && header[1] == 7;
  if (!narrow && !wide)
    return invalid("not an llm.c token file: the header says magic " + std::to_string(header[0]) + ", version " +
                       std::to_string(header[1]) + "; known are 20240520, 1 and 20240801, 7",
                   path);
  const int width = narrow ? 2 : 4;
  const std::size_t room = bytes.size() - kLlmcHeader;
  if (header[2] < 0 || static_cast<std::size_t>(header[2]) * static_cast<std::size_t>(width) != room)
    return invalid("the header says " + std::to_string(header[2]) + " tokens of " + std::to_string(width) +
                       " bytes, but " + std::to_string(room) + " bytes follow it; the file is damaged or cut short",
                   path);
  return Run{bytes.data() + kLlmcHeader, header[2], width};
}

}  // namespace

std::string_view tokenizer_name(Tokenizer tokenizer) {
  switch (tokenizer) {
    case Tokenizer::kBytes: return "bytes";
    case Tokenizer::kChars: return "characters";
    case Tokenizer::kU16: return "16-bit tokens";
    case Tokenizer::kLlmc: return "llm.c tokens";
    case Tokenizer::kTrained: return "tokens";
  }
  return "?";
}

bool is_llmc(std::span<const std::byte> bytes) {
  std::int32_t magic = 0;
  if (bytes.size() < sizeof(magic)) return false;
  std::memcpy(&magic, bytes.data(), sizeof(magic));
  return magic == 20240520 || magic == 20240801;
}

Result<Run> token_run(Tokenizer tokenizer, std::span<const std::byte> bytes, const std::string& path) {
  if (tokenizer == Tokenizer::kLlmc) return llmc_run(bytes, path);
  const auto size = static_cast<std::int64_t>(bytes.size());
  if (tokenizer == Tokenizer::kBytes) return Run{bytes.data(), size, 1};
  if (tokenizer == Tokenizer::kChars || tokenizer == Tokenizer::kTrained)
    return internal("characters have no tokens in the file", path);
  if (size % 2 != 0)
    return invalid("has " + std::to_string(size) +
                       " bytes; 16-bit tokens need an even number (for text, use tokenizer = \"bytes\")",
                   path);
  return Run{bytes.data(), size / 2, 2};
}

Status Alphabet::add(std::span<const std::byte> bytes, const std::string& path) {
  for (std::size_t at = 0; at < bytes.size();) {
    const char32_t code = next_character(text_of(bytes), at);
    if (code == kNoCharacter) return not_utf8(at, path);
    if (code >= seen_.size()) seen_.resize(code + 1);
    seen_[code] = true;
  }
  return {};
}

void Alphabet::seal() {
  number_of_.assign(seen_.size(), 0);
  for (char32_t code = 0; code < seen_.size(); ++code) {
    if (!seen_[code]) continue;
    number_of_[code] = static_cast<std::uint32_t>(sorted_.size());
    sorted_.push_back(code);
  }
}

Result<std::vector<std::uint32_t>> Alphabet::encode(std::span<const std::byte> bytes, const std::string& path) const {
  std::vector<std::uint32_t> ids;
  ids.reserve(bytes.size());
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t start = at;
    const char32_t code = next_character(text_of(bytes), at);
    if (code == kNoCharacter) return not_utf8(at, path);
    if (code >= seen_.size() || !seen_[code]) {
      std::string character(reinterpret_cast<const char*>(bytes.data()) + start, at - start);
      return invalid("the character `" + character + "` does not occur in the training text", path);
    }
    ids.push_back(number_of_[code]);
  }
  return ids;
}

std::string Alphabet::text() const {
  std::string all;
  for (const char32_t code : sorted_) append_utf8(all, code);
  return all;
}

Result<std::string> Alphabet::decode(std::span<const std::int32_t> ids) const {
  std::string text;
  for (std::int32_t id : ids) {
    if (id < 0 || id >= size())
      return invalid("token " + std::to_string(id) + " is none of the " + std::to_string(size()) + " characters");
    append_utf8(text, sorted_[static_cast<std::size_t>(id)]);
  }
  return text;
}

}  // namespace baleen::text
