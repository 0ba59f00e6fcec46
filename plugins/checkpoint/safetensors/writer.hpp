/// \file Writing a safetensors file, all or nothing.
#pragma once
#include "baleen/checkpoint.hpp"

namespace baleen::safetensors {

using namespace sdk;

/// Writes to a temporary neighbour, syncs it, renames it over `path` and syncs the folder. After a failure `path` is
/// what it was, and the neighbour is gone.
Status write_file(std::string_view path, std::span<const baleen_named_tensor_t> tensors, const Facts& facts);

}  // namespace baleen::safetensors
