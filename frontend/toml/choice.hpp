/// \file Sections that choose members: [compute] and [transport]. Private to this folder.
#pragma once
#include "frontend/toml/manifest.hpp"
#include "frontend/toml/toml_entry.hpp"

namespace baleen {

/// `plugin`, and options beside it.
Status read_choice(const TomlEntry& section, const Manifest& manifest, ManifestChoice& choice);

/// Likewise, and `deterministic`. Its options may be plugins with options of their own.
Status read_transport(const TomlEntry& section, Manifest& out);

}  // namespace baleen
