/// \file Links one after the other.
#include "core/input/links.hpp"

#include <system_error>

namespace baleen {
namespace {

namespace fs = std::filesystem;

constexpr int kLinks = 40;  // as many as Linux follows (path_resolution(7))

}  // namespace

bool is_open_file(const fs::path& path) {
  std::error_code failure;
  const fs::path folder = fs::canonical(path.has_parent_path() ? path.parent_path() : fs::path("."), failure);
  const std::string text = folder.string();
  return !failure && text.starts_with("/proc/") && folder.filename() == "fd";
}

fs::path behind_links(const fs::path& path) {
  fs::path place = path;
  std::error_code failure;
  for (int i = 0; i < kLinks; ++i) {
    if (!fs::is_symlink(fs::symlink_status(place, failure)) || is_open_file(place)) return place;
    const fs::path target = fs::read_symlink(place, failure);
    if (failure) return path;
    place = target.is_absolute() ? target : place.parent_path() / target;
  }
  return path;
}

}  // namespace baleen
