/// \file A checkpoint without a session: what is in it, whether it is intact, and its tensors as a whole.
#pragma once
#include <filesystem>

#include "core/runtime/host_tensor.hpp"
#include "frontend/checkpoint/shard_format.hpp"

namespace baleen {

/// Reads a tensor that the folder has, as a whole.
Result<HostTensor> read_whole(const ShardFolder& folder, const std::string& name);

/// The names of parameters, in order; all tensors where the checkpoint does not say which are.
std::vector<std::string> parameter_names(const ShardFolder& folder);

/// Compares every byte with its checksum, and every tensor with the digest of the run that saved it. IO, with file and
/// tensor.
Status verify_checkpoint(const ShardFormat& format, const std::filesystem::path& path);

}  // namespace baleen
