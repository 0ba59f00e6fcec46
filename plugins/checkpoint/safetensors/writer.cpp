/// \file The layout (tensors by alignment, then name), checksums on the way, and the atomic replacement.
#include "writer.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <unordered_set>

#include "baleen/dtype.hpp"
#include "hash.hpp"
#include "header.hpp"
#include "temporary.hpp"

namespace baleen::safetensors {
namespace {

Status check_tensors(std::span<const baleen_named_tensor_t> tensors) {
  std::unordered_set<std::string_view> names;
  for (const baleen_named_tensor_t& tensor : tensors) {
    const std::string name(view(tensor.name));
    if (name.empty() || name == "__metadata__" || name.size() > kMaxName)
      return invalid("a tensor cannot be named `" + name + "` in this format");
    if (!names.insert(view(tensor.name)).second) return invalid("two tensors are named `" + name + "`");
    if (to_name(tensor.dtype).empty() || tensor.rank > BALEEN_MAX_RANK)
      return internal("tensor `" + name + "` has no known dtype or more than 8 dimensions");
    const auto count = std::accumulate(tensor.shape, tensor.shape + tensor.rank, std::int64_t{1}, std::multiplies<>());
    if (static_cast<std::uint64_t>(count) * dtype_size(tensor.dtype) != tensor.bytes || (tensor.bytes && !tensor.data))
      return internal("tensor `" + name + "`: its shape and its " + std::to_string(tensor.bytes) + " bytes disagree");
  }
  return {};
}

/// Largest elements first, so that every tensor is aligned to its elements; then by name.
std::vector<std::size_t> file_order(std::span<const baleen_named_tensor_t> tensors) {
  std::vector<std::size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const auto size_a = dtype_size(tensors[a].dtype), size_b = dtype_size(tensors[b].dtype);
    return size_a != size_b ? size_a > size_b : view(tensors[a].name) < view(tensors[b].name);
  });
  return order;
}

std::vector<Entry> entries_of(std::span<const baleen_named_tensor_t> tensors, const std::vector<std::size_t>& order) {
  std::vector<Entry> entries;
  std::uint64_t place = 0;
  for (std::size_t i : order) {
    const baleen_named_tensor_t& tensor = tensors[i];
    Entry entry{std::string(view(tensor.name)), std::string(to_name(tensor.dtype)), {}, place, place + tensor.bytes};
    entry.shape.assign(tensor.shape, tensor.shape + tensor.rank);
    place = entry.end;
    entries.push_back(std::move(entry));
  }
  return entries;
}

/// Length and JSON.
Result<std::string> header_of(const std::vector<Entry>& entries, const Facts& facts) {
  Facts metadata = {{"format", "pt"}};  // what Hugging Face's loaders look for
  for (const auto& fact : facts)
    if (fact.first != "format") metadata.push_back(fact);
  BALEEN_TRY_ASSIGN(const std::string json, compose_header(entries, metadata));
  const auto length = std::bit_cast<std::array<char, 8>>(static_cast<std::uint64_t>(json.size()));
  return std::string(length.data(), length.size()) + json;
}

/// What is hashed and then written while it is still in the processor's cache.
constexpr std::size_t kPiece = 1 << 20;

/// Writes one tensor from byte `at` of the file on. Its checksum, where one is asked for.
Status write_tensor(Temporary& file, std::uint64_t at, std::span<const std::byte> bytes, std::uint64_t* checksum) {
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  while (!bytes.empty()) {
    const auto piece = bytes.first(std::min(kPiece, bytes.size()));
    if (checksum) XXH3_64bits_update(&state, piece.data(), piece.size());
    BALEEN_TRY(file.write(at, piece));
    at += piece.size();
    file.written_up_to(at);
    bytes = bytes.subspan(piece.size());
  }
  if (checksum) *checksum = XXH3_64bits_digest(&state);
  return {};
}

/// The header comes last, since it tells the checksums: what is cut short has none.
Status write_ordered(std::string_view path, std::span<const baleen_named_tensor_t> tensors,
                     const FactsOfChecksums& facts, bool with_checksums) {
  BALEEN_TRY(check_tensors(tensors));
  const std::vector<std::size_t> order = file_order(tensors);
  const std::vector<Entry> entries = entries_of(tensors, order);
  std::vector<std::uint64_t> checksums(tensors.size());
  BALEEN_TRY_ASSIGN(const Facts first_facts, facts(checksums));
  BALEEN_TRY_ASSIGN(std::string header, header_of(entries, first_facts));
  const std::uint64_t data = header.size();

  const std::string target(path);
  BALEEN_TRY_ASSIGN(Temporary file, Temporary::beside(target));
  BALEEN_TRY(file.reserve(data + (entries.empty() ? 0 : entries.back().end)));
  for (std::size_t n = 0; n < order.size(); ++n) {
    const baleen_named_tensor_t& tensor = tensors[order[n]];
    BALEEN_TRY(write_tensor(file, data + entries[n].begin, {static_cast<const std::byte*>(tensor.data), tensor.bytes},
                            with_checksums ? &checksums[order[n]] : nullptr));
  }
  if (with_checksums) {
    BALEEN_TRY_ASSIGN(const Facts last_facts, facts(checksums));
    BALEEN_TRY_ASSIGN(header, header_of(entries, last_facts));
    if (header.size() != data) return internal("the checksums have changed the length of the header");
  }
  BALEEN_TRY(file.write(0, std::as_bytes(std::span(header))));
  return file.rename_to(target);
}

}  // namespace

Status write_file(std::string_view path, std::span<const baleen_named_tensor_t> tensors, const Facts& facts) {
  return write_ordered(
      path, tensors, [&](std::span<const std::uint64_t>) -> Result<Facts> { return facts; }, false);
}

Status write_file(std::string_view path, std::span<const baleen_named_tensor_t> tensors,
                  const FactsOfChecksums& facts) {
  return write_ordered(path, tensors, facts, true);
}

}  // namespace baleen::safetensors
