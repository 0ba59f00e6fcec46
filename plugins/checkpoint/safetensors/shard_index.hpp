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

/// What one writer's file holds.
struct ShardPieces {
  ShardWriter writer;
  std::map<std::string, Region> pieces;
};
Result<std::string> compose_pieces(const ShardPieces& pieces);
Result<ShardPieces> parse_pieces(const std::string& json);

/// The committed checkpoint.
struct ShardIndex {
  struct Piece {
    std::size_t file = 0;  ///< the writer's number
    Region region;
  };
  struct Tensor {
    baleen_dtype_t dtype = BALEEN_F32;
    std::vector<std::int64_t> shape;
    std::vector<Piece> pieces;
  };
  std::string attempt;
  std::vector<std::uint64_t> file_bytes;  ///< of each writer's file
  std::map<std::string, Tensor> tensors;
  Facts facts;

  std::string file_name(std::size_t writer) const {
    return shard_file_name(attempt, static_cast<std::int32_t>(writer), static_cast<std::int32_t>(file_bytes.size()));
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

/// "fp32 [4, 6]".
std::string type_text(baleen_dtype_t dtype, const std::vector<std::int64_t>& shape);

}  // namespace baleen::safetensors
