/// \file The layout (tensors by alignment, then name), checksums on the way, and the atomic replacement.
#include "writer.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <optional>
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
    if (static_cast<std::uint64_t>(count) * dtype_size(tensor.dtype) != tensor.bytes)
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

/// A file in the making: where each tensor goes, and how far it has come. The header is written last: what is cut short
/// has none.
class FileInPieces final : public PieceWriter {
 public:
  static Result<std::unique_ptr<FileInPieces>> begin(std::string_view path,
                                                     std::span<const baleen_named_tensor_t> tensors,
                                                     const Facts& facts) {
    BALEEN_TRY(check_tensors(tensors));
    auto made = std::unique_ptr<FileInPieces>(new FileInPieces(path));
    made->order_ = file_order(tensors);
    made->entries_ = entries_of(tensors, made->order_);
    BALEEN_TRY_ASSIGN(made->header_, header_of(made->entries_, facts));
    made->next_.resize(tensors.size());
    for (std::size_t n = 0; n < made->order_.size(); ++n)
      made->next_[made->order_[n]] = made->header_.size() + made->entries_[n].begin;
    made->whole_up_to_ = made->header_.size();
    BALEEN_TRY_ASSIGN(Temporary file, Temporary::beside(made->target_));
    made->file_.emplace(std::move(file));
    BALEEN_TRY(made->file_->reserve(made->header_.size() + (made->entries_.empty() ? 0 : made->entries_.back().end)));
    return made;
  }

  /// Numbers of tensors in the order in which they lie in the file.
  const std::vector<std::size_t>& order() const { return order_; }

  Status append(std::size_t number, std::span<const std::byte> bytes) override {
    std::uint64_t& at = next_[number];
    BALEEN_TRY(file_->write(at, bytes));
    at += bytes.size();
    return at - bytes.size() == whole_up_to_ ? file_->written_up_to(whole_up_to_ = at) : Status();
  }
  Status commit() override {
    BALEEN_TRY(file_->write(0, std::as_bytes(std::span(header_))));
    return file_->rename_to(target_);
  }
  /// Of the same lengths as those it began with.
  Status change_facts(const Facts& facts) {
    const std::size_t before = header_.size();
    BALEEN_TRY_ASSIGN(header_, header_of(entries_, facts));
    return header_.size() == before ? Status() : internal("the checksums have changed the length of the header");
  }

 private:
  explicit FileInPieces(std::string_view path) : target_(path) {}

  std::string target_, header_;
  std::optional<Temporary> file_;
  std::vector<std::size_t> order_;
  std::vector<Entry> entries_;       // in that order
  std::vector<std::uint64_t> next_;  // by number: where its next byte goes
  std::uint64_t whole_up_to_ = 0;    // what came from the file's beginning on without a gap
};

/// Writes one tensor. Its checksum, where one is asked for.
Status write_tensor(FileInPieces& file, std::size_t number, std::span<const std::byte> bytes, std::uint64_t* checksum) {
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  while (!bytes.empty()) {
    const auto piece = bytes.first(std::min(kPiece, bytes.size()));
    if (checksum) XXH3_64bits_update(&state, piece.data(), piece.size());
    BALEEN_TRY(file.append(number, piece));
    bytes = bytes.subspan(piece.size());
  }
  if (checksum) *checksum = XXH3_64bits_digest(&state);
  return {};
}

Status check_data(std::span<const baleen_named_tensor_t> tensors) {
  for (const baleen_named_tensor_t& tensor : tensors)
    if (tensor.bytes > 0 && !tensor.data)
      return internal("tensor `" + std::string(view(tensor.name)) + "` has no data");
  return {};
}

Status write_ordered(std::string_view path, std::span<const baleen_named_tensor_t> tensors,
                     const FactsOfChecksums& facts, bool with_checksums) {
  BALEEN_TRY(check_data(tensors));
  std::vector<std::uint64_t> checksums(tensors.size());
  BALEEN_TRY_ASSIGN(const Facts first_facts, facts(checksums));
  BALEEN_TRY_ASSIGN(const auto file, FileInPieces::begin(path, tensors, first_facts));
  for (const std::size_t number : file->order())
    BALEEN_TRY(write_tensor(*file, number, {static_cast<const std::byte*>(tensors[number].data), tensors[number].bytes},
                            with_checksums ? &checksums[number] : nullptr));
  if (with_checksums) {
    BALEEN_TRY_ASSIGN(const Facts last_facts, facts(checksums));
    BALEEN_TRY(file->change_facts(last_facts));
  }
  return file->commit();
}

}  // namespace

Status write_file(std::string_view path, std::span<const baleen_named_tensor_t> tensors, const Facts& facts) {
  return write_ordered(
      path, tensors, [&](std::span<const std::uint64_t>) -> Result<Facts> { return facts; }, false);
}

Result<std::unique_ptr<PieceWriter>> begin_file(std::string_view path, std::span<const baleen_named_tensor_t> tensors,
                                                const Facts& facts) {
  BALEEN_TRY_ASSIGN(auto file, FileInPieces::begin(path, tensors, facts));
  return std::unique_ptr<PieceWriter>(std::move(file));
}

Status write_file(std::string_view path, std::span<const baleen_named_tensor_t> tensors,
                  const FactsOfChecksums& facts) {
  return write_ordered(path, tensors, facts, true);
}

}  // namespace baleen::safetensors
