/// \file A fuzz target: any bytes as the files of a tokenizer. The first byte says which; what opens must encode and
/// decode.
#include <cstdint>
#include <string>

#include "tokenizer/trained_tokenizer.hpp"

namespace {

using namespace baleen::text;

/// "a: b" apart at the first zero byte.
std::pair<std::string_view, std::string_view> halves(std::string_view text) {
  const std::size_t zero = text.find('\0');
  return zero == text.npos ? std::pair(text, std::string_view())
                           : std::pair(text.substr(0, zero), text.substr(zero + 1));
}

TokenizerResult read(std::uint8_t which, std::string_view text) {
  const auto [first, second] = halves(text);
  switch (which) {
    case 'p': return read_vocab_and_merges(first, second, "vocab.json", "merges.txt");
    case 'v': return read_vocab_txt(first, second, "vocab.txt", "tokenizer_config.json");
    case 's': return read_sentencepiece(text, "m.model");
    default: return read_tokenizer_json(text, "t.json");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto tokenizer = read(data[0], {reinterpret_cast<const char*>(data) + 1, size - 1});
  if (!tokenizer) return 0;
  std::vector<std::uint32_t> ids;
  const char* const text = "The naïve <|end|> 日本 e\xcc\x81 12345\t\r\n [MASK] 🙂\xc2\xa0x";
  if (!(*tokenizer)->encode(text, ids)) return 0;
  for (const std::uint32_t id : ids)
    if (static_cast<std::int64_t>(id) >= (*tokenizer)->vocabulary()) __builtin_trap();
  (void)(*tokenizer)->decode(std::vector<std::int32_t>(ids.begin(), ids.end()));
  return 0;
}
