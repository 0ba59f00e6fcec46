/// \file Sections that choose members: [compute], and [transport] with one member or two. Private to this folder.
#pragma once
#include "frontend/toml/manifest.hpp"
#include "frontend/toml/toml_entry.hpp"

namespace baleen {

/// A path as the user means it: relative to the manifest's folder, or to the working folder in a `--set`.
std::filesystem::path resolved_path(const Manifest& manifest, const std::string& path, const std::string& where);

/// `plugin`, and options beside it.
Status read_choice(const TomlEntry& section, const Manifest& manifest, ManifestChoice& choice);

/// Puts the section into the manifest: one member for all ranks, or one inside hosts and one between them.
Status read_transport(const TomlEntry& section, Manifest& out);

/// That hosts can be cut as [transport] wants it; once all hosts are known.
Status check_cuts(const Manifest& manifest);

}  // namespace baleen
