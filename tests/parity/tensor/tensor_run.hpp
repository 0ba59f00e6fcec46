/// \file Plans of the strategy `tensor` alone.
#pragma once
#include <string>

#include "parity/parity_run.hpp"

namespace baleen::test {

/// `options`: of the strategy, as TOML.
inline std::string tensor_manifest(const MeshAxes& axes, const std::string& options) {
  return manifest_of(axes, "[[plan]]\nstrategy = \"tensor\"\n" + options);
}

}  // namespace baleen::test
