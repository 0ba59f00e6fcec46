/// \file From what the user wrote (files, folders, patterns) to a sorted list of files.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "baleen/result.hpp"

namespace baleen::text {

/// A file that was found. `named` where the user wrote its own path: such a file is never left out quietly.
struct FoundFile {
  std::string path;
  bool named = false;
};

/// Expands `entries` in their order, each one's files sorted by path, without repeats. A folder is walked recursively
/// without hidden names and links to folders. `extensions` (without dot; none: any) filters what was not named.
/// Relative entries start at `folder`. Fails where an entry gives nothing.
Result<std::vector<FoundFile>> find_files(const std::vector<std::string_view>& entries, std::string_view folder,
                                          const std::vector<std::string_view>& extensions);

}  // namespace baleen::text
