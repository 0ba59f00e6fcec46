/// \file Writing a safetensors file, all or nothing.
#pragma once
#include <functional>
#include <memory>

#include "baleen/checkpoint.hpp"

namespace baleen::safetensors {

using namespace sdk;

/// Writes to a temporary neighbour, syncs it, renames it over `path` and syncs the folder. After a failure `path` is
/// what it was, and the neighbour is gone.
Status write_file(std::string_view path, std::span<const baleen_named_tensor_t> tensors, const Facts& facts);

/// The same from pieces of the tensors, in their order in the list or any other.
Result<std::unique_ptr<PieceWriter>> begin_file(std::string_view path, std::span<const baleen_named_tensor_t> tensors,
                                                const Facts& facts);

/// Facts that tell the checksum (XXH3, 64 bits) of each tensor's bytes. Asked for twice, with zeros before anything is
/// written and with the checksums at the end; the texts must be equally long.
using FactsOfChecksums = std::function<Result<Facts>(std::span<const std::uint64_t> checksums)>;
/// The same, with checksums that are made of the bytes as they are written, each of them read once.
Status write_file(std::string_view path, std::span<const baleen_named_tensor_t> tensors, const FactsOfChecksums& facts);

}  // namespace baleen::safetensors
