/// \file Who may include whom (docs/design.md has the picture): the rules as data, and checking one include.
#pragma once
#include <optional>
#include <string>

#include "source_text.hpp"

namespace baleen::structure {

/// Whether a top-level folder is a room of the program: core, compiler or frontend.
bool is_room(const std::string& top);

/// The folder that a file may take for its own: a member's (plugins/data/text), else the one it lies in.
std::string own_folder(const std::string& file);

/// What is wrong with `include` in the file `file`, if anything. `is_own` says whether a quoted path names a file in
/// its own folder. Paths are relative to the root of the tree, with '/'.
std::optional<std::string> violation(const std::string& file, const Include& include, bool is_own);

}  // namespace baleen::structure
