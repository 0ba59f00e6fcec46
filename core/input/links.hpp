/// \file Paths behind symbolic links, for files that are replaced as a whole.
#pragma once
#include <filesystem>

namespace baleen {

/// Where a path leads behind symbolic links, whether or not something is there; the path itself where it is no link, or
/// one that leads round in a circle. What stands for an open file of a process (`/dev/stdout`) is not followed further
/// than to its place in `/proc`: behind it there may be no path.
std::filesystem::path behind_links(const std::filesystem::path& path);

/// Whether `path`, which is no other link, stands for an open file of a process, as `/proc/self/fd/1`.
bool is_open_file(const std::filesystem::path& path);

}  // namespace baleen
