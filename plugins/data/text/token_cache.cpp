/// \file Reading caches as if strangers had made them.
#include "token_cache.hpp"

#include <xxhash.h>

#include <cstring>

namespace baleen::text {
namespace {

constexpr char kMagic[8] = {'B', 'A', 'L', 'E', 'E', 'N', 'T', 'K'};

std::uint64_t head_hash(TokenCacheHeader header, std::span<const std::byte> table) {
  header.head_hash = 0;
  return XXH3_64bits_withSeed(table.data(), table.size(), XXH3_64bits(&header, sizeof(header)));
}

Status check_header(const TokenCacheHeader& header, std::size_t bytes, const Digest& key, std::size_t runs,
                    const std::string& where) {
  if (std::memcmp(header.magic, kMagic, sizeof(kMagic)) != 0 || header.version != 1)
    return invalid("is no token cache of version 1", where);
  if (header.width != 2 && header.width != 4)
    return invalid("says that an id has " + std::to_string(header.width) + " bytes", where);
  const std::uint64_t room = bytes - sizeof(header);
  if (header.runs > room / 8 || header.ids > (room - 8 * header.runs) / header.width ||
      room != 8 * header.runs + header.ids * header.width)
    return invalid("has " + std::to_string(bytes) + " bytes, but its header says " + std::to_string(header.runs) +
                       " runs and " + std::to_string(header.ids) + " ids of " + std::to_string(header.width) + " bytes",
                   where);
  if (!(header.key == key)) return invalid("is of another text, tokenizer or other options", where);
  if (header.runs != runs)
    return invalid("has " + std::to_string(header.runs) + " runs for " + std::to_string(runs) + " files", where);
  return {};
}

}  // namespace

Result<std::vector<Run>> TokenCache::read(std::span<const std::byte> bytes, const Digest& key, std::size_t runs,
                                          const std::string& where) {
  TokenCacheHeader header{};
  if (bytes.size() < sizeof(header)) return invalid("is cut short: " + std::to_string(bytes.size()) + " bytes", where);
  std::memcpy(&header, bytes.data(), sizeof(header));
  BALEEN_TRY(check_header(header, bytes.size(), key, runs, where));
  const auto table = bytes.subspan(sizeof(header), 8 * runs);
  const auto ids = bytes.subspan(sizeof(header) + 8 * runs);
  if (head_hash(header, table) != header.head_hash) return invalid("is damaged: its header has another hash", where);
  std::vector<Run> found;
  std::uint64_t first = 0;
  for (std::size_t i = 0; i < runs; ++i) {
    std::uint64_t count = 0;
    std::memcpy(&count, table.data() + 8 * i, 8);
    if (count > header.ids - first) return invalid("is damaged: its runs are longer than the file", where);
    found.push_back(
        {ids.data() + first * header.width, static_cast<std::int64_t>(count), static_cast<int>(header.width)});
    first += count;
  }
  if (first != header.ids) return invalid("is damaged: its runs are shorter than the file", where);
  if (XXH3_64bits(ids.data(), ids.size()) != header.ids_hash)
    return invalid("is damaged: its ids have another hash", where);
  return found;
}

Result<TokenCache> TokenCache::open(const std::string& path, const Digest& key, std::size_t runs) {
  TokenCache cache;
  BALEEN_TRY_ASSIGN(cache.file_, FileBytes::open(path));
  BALEEN_TRY_ASSIGN(cache.runs_, read(cache.file_.bytes(), key, runs, path));
  return cache;
}

}  // namespace baleen::text
