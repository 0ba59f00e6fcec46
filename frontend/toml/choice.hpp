/// \file Sections that choose members: [compute], [offload], [transport]. Private to this folder.
#pragma once
#include "frontend/toml/manifest.hpp"
#include "frontend/toml/toml_entry.hpp"

namespace baleen {

/// `plugin`, and options beside it.
Status read_choice(const TomlEntry& section, const Manifest& manifest, ManifestChoice& choice);

/// [offload], a member with its options and `budget_mb`, or [[offload]], several of them.
Status read_places(const TomlEntry& section, Manifest& out);

/// A member, its options and `deterministic`. Its options may be plugins with options of their own.
Status read_transport(const TomlEntry& section, Manifest& out);

/// The section [launcher], whose options may stand in [cluster] too, though not twice.
Status read_launcher(const TomlEntry& section, Manifest& out);
/// An option of the launcher.
Status add_launcher_option(const std::string& name, UserValue value, Manifest& out);

}  // namespace baleen
