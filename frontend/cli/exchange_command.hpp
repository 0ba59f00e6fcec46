/// \file Tensors that are not in a checkpoint of ours, for `baleen checkpoint`.
#pragma once
#include <memory>

#include "frontend/checkpoint/tensor_files.hpp"
#include "frontend/cli/commands.hpp"

namespace baleen::app {

/// A file's tensors, or those of another framework's folder; null where the path is a folder of another kind.
Result<std::unique_ptr<TensorSource>> open_foreign(const std::filesystem::path& path, const Setup& setup);

}  // namespace baleen::app
