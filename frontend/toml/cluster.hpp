/// \file The section [cluster]: hosts, and how they meet. Private to this folder.
#pragma once
#include "frontend/toml/manifest.hpp"
#include "frontend/toml/toml_entry.hpp"

namespace baleen {

/// Puts the section into the manifest. Returns whether it names hosts.
Result<bool> read_cluster(const TomlEntry& cluster, Manifest& out);

}  // namespace baleen
