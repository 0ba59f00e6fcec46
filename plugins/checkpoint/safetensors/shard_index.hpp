/// \file What a folder of shards says of itself: each writer's file of its pieces, and the index of all, in JSON.
#pragma once
#include <map>

#include "shard_region.hpp"

namespace baleen::safetensors {

inline constexpr char kIndexName[] = "index.baleen.json";
/// The entry of a writer's `__metadata__` that holds its ShardPieces.
inline constexpr char kPiecesKey[] = "baleen.shards";

/// "shard-ATTEMPT-00001-of-00004.safetensors"; `writer` from 0.
std::string shard_file_name(const std::string& attempt, std::int32_t writer, std::int32_t writers);
/// Whether an attempt may be named so.
Status check_attempt(const std::string& attempt);

/// A piece in a file, and the XXH3 (64 bits) of its bytes there.
struct WrittenPiece {
  Region region;
  std::uint64_t checksum = 0;
};
/// What one writer's file holds.
struct ShardPieces {
  ShardWriter writer;
  std::map<std::string, WrittenPiece> pieces;
};
Result<std::string> compose_pieces(const ShardPieces& pieces);
Result<ShardPieces> parse_pieces(const std::string& json);

/// The committed checkpoint.
struct ShardIndex {
  struct Piece : WrittenPiece {
    std::size_t file = 0;  ///< the writer's number
  };
  struct File {
    std::uint64_t bytes = 0;
    std::uint64_t header = 0;  ///< checksum of its header, length included
  };
  struct Tensor {
    baleen_dtype_t dtype = BALEEN_F32;
    std::vector<std::int64_t> shape;
    std::vector<Piece> pieces;
  };
  std::string attempt;
  std::vector<File> files;  ///< of each writer
  std::map<std::string, Tensor> tensors;
  Facts facts;

  std::string file_name(std::size_t writer) const {
    return shard_file_name(attempt, static_cast<std::int32_t>(writer), static_cast<std::int32_t>(files.size()));
  }
};
Result<std::string> compose_index(const ShardIndex& index);
Result<ShardIndex> parse_index(const std::string& json);
/// Of a folder. NOT_FOUND where nothing has been committed.
Result<ShardIndex> read_index(const std::string& folder);

/// A stretch of a tensor's elements, and the piece that has it.
struct HeldStretch : Stretch {
  std::size_t piece = 0;
};
/// All elements of a tensor, ascending. Fails, naming elements and files, where some are missing or held twice.
Result<std::vector<HeldStretch>> held_stretches(const ShardIndex& index, const std::string& name);

/// XXH3 of 64 bits, and its 16 hexadecimal digits.
std::uint64_t checksum_of(std::span<const std::byte> bytes);
std::string checksum_text(std::uint64_t checksum);

/// "fp32 [4, 6]".
std::string type_text(baleen_dtype_t dtype, const std::vector<std::int64_t>& shape);

}  // namespace baleen::safetensors
