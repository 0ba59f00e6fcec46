/// \file Shards of many ranks in a folder: each writes a file, one commits (baleen_checkpoint_shards_t).
#pragma once
#include "baleen/checkpoint_shards.hpp"

namespace baleen::safetensors {

using namespace sdk;

Status write_shards(const std::string& folder, const ShardWriter& writer, std::span<const Shard> shards);
Status commit_shards(const Host& host, const std::string& folder, const std::string& attempt, std::int32_t writers,
                     const Facts& facts);
/// The files of a checkpoint, committed or not, and the folder unless it holds others.
Status remove_shards(const std::string& folder);

}  // namespace baleen::safetensors
