/// \file The plugin of a file, by its ending.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "baleen/checkpoint.h"
#include "core/plugin/registry.hpp"
#include "core/runtime/host_tensor.hpp"

namespace baleen {

struct TensorFormat {
  Plugin plugin;
  const baleen_checkpoint_t* table;
};

Result<TensorFormat> tensor_format_of(const Registry& plugins, const std::string& path);

/// As a plugin takes it, without data and its bytes. The name outlives it.
baleen_named_tensor_t abi_tensor(const std::string& name, baleen_dtype_t dtype, const Shape& shape);

/// Pairs name, text of what outlives them.
std::vector<baleen_string_t> abi_facts(const std::map<std::string, std::string>& facts);

}  // namespace baleen
