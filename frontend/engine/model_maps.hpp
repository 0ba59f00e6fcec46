/// \file The library's maps of models, without a script.
#pragma once
#include <memory>

#include "compiler/graph/op_kind.hpp"
#include "frontend/engine/setup.hpp"
#include "frontend/lua/script.hpp"

namespace baleen::app {

/// The registry outlives the library.
struct ModelMaps {
  std::unique_ptr<OpRegistry> ops;
  std::unique_ptr<Script> library;
};

Result<ModelMaps> open_model_maps(const Setup& setup);

}  // namespace baleen::app
