/// \file Who may include whom (core/README.md has the picture): the rules as data, and checking one include.
#pragma once
#include <optional>
#include <string>

#include "source_text.hpp"

namespace baleen::structure {

/// What is wrong with `include` in the file `file` (a path relative to the root of the tree, with '/'), if anything.
/// `is_sibling` says whether a quoted path names a file that lies beside or below the including one.
std::optional<std::string> violation(const std::string& file, const Include& include, bool is_sibling);

}  // namespace baleen::structure
