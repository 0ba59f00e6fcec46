/// \file A fuzz target: any bytes as a cache of token ids, with the key and the number of runs that they claim. What is
/// taken must hold as many ids as it says.
#include <xxhash.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "stream.hpp"
#include "token_cache.hpp"

namespace {

using namespace baleen::text;

/// Sets the hashes to what they must be, so that what lies behind their check is reached.
void seal(std::vector<std::byte>& bytes, const TokenCacheHeader& given) {
  TokenCacheHeader header = given;
  const std::size_t room = bytes.size() - sizeof(header);
  const std::size_t table = std::min<std::size_t>(room / 8, header.runs) * 8;
  header.ids_hash = XXH3_64bits(bytes.data() + sizeof(header) + table, room - table);
  header.head_hash = 0;
  header.head_hash = XXH3_64bits_withSeed(bytes.data() + sizeof(header), table, XXH3_64bits(&header, sizeof(header)));
  std::memcpy(bytes.data(), &header, sizeof(header));
}

void use(const std::vector<std::byte>& bytes, const TokenCacheHeader& header) {
  const auto runs = TokenCache::read(bytes, header.key, header.runs, "c");
  if (!runs) return;
  Stream stream;
  for (const Run& run : *runs) stream.append(run);
  if (static_cast<std::uint64_t>(stream.size()) != header.ids) __builtin_trap();
  std::vector<std::int32_t> ids(static_cast<std::size_t>(stream.size()));
  stream.read(0, ids);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto* first = reinterpret_cast<const std::byte*>(data);
  std::vector<std::byte> bytes(first, first + size);
  TokenCacheHeader header{};
  std::memcpy(&header, data, std::min(size, sizeof(header)));
  use(bytes, header);
  if (size < sizeof(header)) return 0;
  seal(bytes, header);
  use(bytes, header);
  return 0;
}
