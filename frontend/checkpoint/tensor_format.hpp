/// \file The plugin of a file, by its ending.
#pragma once
#include <string>

#include "baleen/checkpoint.h"
#include "core/plugin/registry.hpp"

namespace baleen {

struct TensorFormat {
  Plugin plugin;
  const baleen_checkpoint_t* table;
};

Result<TensorFormat> tensor_format_of(const Registry& plugins, const std::string& path);

}  // namespace baleen
