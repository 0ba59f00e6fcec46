/// \file The ways from bytes to token ids: bytes, characters, nanoGPT's and llm.c's token files, trained tokenizers.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "baleen/result.hpp"
#include "stream.hpp"

namespace baleen::text {

enum class Tokenizer { kBytes, kChars, kU16, kLlmc, kTrained };

std::string_view tokenizer_name(Tokenizer tokenizer);

/// True where the files hold ids already.
inline bool is_token_file(Tokenizer tokenizer) { return tokenizer == Tokenizer::kU16 || tokenizer == Tokenizer::kLlmc; }

/// True where `bytes` begin as an llm.c token file does (either header).
bool is_llmc(std::span<const std::byte> bytes);

/// The tokens of one file for every tokenizer but kChars and kTrained. The run borrows `bytes`. Fails on an odd size
/// (kU16) and on a header that does not fit the file (kLlmc).
Result<Run> token_run(Tokenizer tokenizer, std::span<const std::byte> bytes, const std::string& path);

/// A set of characters, numbered by code point.
class Alphabet {
 public:
  /// Adds the characters of a UTF-8 text. Call `seal` after the last.
  Status add(std::span<const std::byte> bytes, const std::string& path);
  void seal();

  std::int64_t size() const { return static_cast<std::int64_t>(sorted_.size()); }
  /// Ids of a UTF-8 text; fails on a character that is not in the alphabet.
  Result<std::vector<std::uint32_t>> encode(std::span<const std::byte> bytes, const std::string& path) const;
  Result<std::string> decode(std::span<const std::int32_t> ids) const;
  /// All characters in the order of their ids, UTF-8.
  std::string text() const;

 private:
  std::vector<bool> seen_;                // by code point
  std::vector<char32_t> sorted_;          // by id
  std::vector<std::uint32_t> number_of_;  // by code point
};

}  // namespace baleen::text
