/// \file A fuzz target: any bytes as the index of a folder of shards, also with a right checksum, and as what a
/// writer's file says of its pieces. What is taken must have all elements once or be refused, and is written and read
/// again the same.
#include <string>

#include "baleen/dtype.hpp"
#include "shard_index.hpp"

namespace {

using namespace baleen;
using namespace baleen::safetensors;

/// Of the files, which no reader takes for longer than they are. Larger ones would only take longer here.
constexpr std::uint64_t kLargest = 1 << 16;

void require(bool holds) {
  if (!holds) __builtin_trap();
}

void use(const ShardIndex& index) {
  for (const ShardIndex::File& file : index.files)
    if (file.bytes > kLargest) return;
  for (const auto& [name, tensor] : index.tensors) {
    std::uint64_t most = 0;
    for (const ShardIndex::Piece& piece : tensor.pieces) {
      require(piece.file < index.files.size());
      std::int64_t last = -1, sum = 0;
      for (const Stretch& stretch : stretches(piece.region)) {
        require(stretch.length > 0 && stretch.global > last && stretch.local == sum);
        last = stretch.global + stretch.length - 1;
        sum += stretch.length;
      }
      require(sum == piece.region.elements() && last < *elements_of(tensor.shape));
      most += static_cast<std::uint64_t>(sum);
    }
    require(most * dtype_size(tensor.dtype) <= kLargest * index.files.size());
    const auto held = held_stretches(index, name);
    if (!held) continue;
    std::int64_t covered = 0;
    for (const HeldStretch& stretch : *held) {
      require(stretch.global == covered && stretch.piece < tensor.pieces.size());
      covered += stretch.length;
    }
    require(covered == *elements_of(tensor.shape));
  }
}

void read_index_of(const std::string& json) {
  const auto index = parse_index(json);
  if (!index) return;
  use(*index);
  const auto composed = compose_index(*index);
  require(static_cast<bool>(composed));
  const auto again = parse_index(*composed);
  require(again && again->tensors.size() == index->tensors.size() && again->facts == index->facts &&
          again->files.size() == index->files.size());
  for (const auto& [name, tensor] : index->tensors) {
    const auto& other = again->tensors.at(name);
    require(other.dtype == tensor.dtype && other.shape == tensor.shape && other.pieces.size() == tensor.pieces.size());
    for (std::size_t i = 0; i < tensor.pieces.size(); ++i)
      require(other.pieces[i].region == tensor.pieces[i].region &&
              other.pieces[i].checksum == tensor.pieces[i].checksum);
  }
}

void read_pieces_of(const std::string& json) {
  const auto pieces = parse_pieces(json);
  if (!pieces) return;
  const auto composed = compose_pieces(*pieces);
  require(static_cast<bool>(composed));
  const auto again = parse_pieces(*composed);
  require(again && again->pieces.size() == pieces->pieces.size() && again->writer.number == pieces->writer.number);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  read_index_of(text);
  read_pieces_of(text);
  // As the file is without its second line, which has the checksum.
  const std::string opening = "{\n";
  if (!text.starts_with(opening)) return 0;
  const std::string checksum = checksum_text(checksum_of(std::as_bytes(std::span(text))));
  read_index_of(opening + " \"checksum\": \"" + checksum + "\",\n" + text.substr(opening.size()));
  return 0;
}
