/// \file Paths that lead to one file.
#include "frontend/engine/written_files.hpp"

namespace baleen::app {
namespace {

bool are_one(const std::filesystem::path& one, const std::filesystem::path& two) {
  std::error_code failure;
  if (std::filesystem::exists(one, failure) && std::filesystem::exists(two, failure))
    return std::filesystem::is_regular_file(one, failure) && std::filesystem::equivalent(one, two, failure);
  const auto whole = [&](const std::filesystem::path& path) {
    const std::filesystem::path absolute = std::filesystem::absolute(path, failure);
    return failure ? path : std::filesystem::weakly_canonical(absolute, failure);
  };
  const std::filesystem::path first = whole(one);
  if (failure) return false;  // what cannot be reached is told by who opens it
  return first == whole(two) && !failure;
}

}  // namespace

Status check_written_files(const std::vector<NamedFile>& written, const std::vector<NamedFile>& read) {
  for (std::size_t i = 0; i < written.size(); ++i) {
    const NamedFile& own = written[i];
    if (own.path.empty()) continue;
    std::vector<NamedFile> others(written.begin() + static_cast<std::ptrdiff_t>(i) + 1, written.end());
    others.insert(others.end(), read.begin(), read.end());
    for (const NamedFile& other : others)
      if (!other.path.empty() && are_one(own.path, other.path))
        return invalid(own.what + " would write over " + other.what + ", the same file; give it another name",
                       own.path.string());
  }
  return {};
}

}  // namespace baleen::app
