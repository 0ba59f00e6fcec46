/// \file find_files over std::filesystem and glob(3).
#include "files.hpp"

#include <glob.h>

#include <algorithm>
#include <filesystem>
#include <unordered_set>

namespace baleen::text {
namespace {

namespace fs = std::filesystem;
using Extensions = std::vector<std::string_view>;

bool is_hidden(const fs::path& path) { return path.filename().string().starts_with('.'); }

bool has_extension(const fs::path& path, const Extensions& extensions) {
  if (extensions.empty()) return true;
  const std::string ending = path.extension().string();
  return std::any_of(extensions.begin(), extensions.end(), [&](std::string_view wanted) {
    if (wanted.starts_with('.')) wanted.remove_prefix(1);
    return ending.empty() ? wanted.empty() : ending.substr(1) == wanted;
  });
}

Result<std::vector<std::string>> walk(const fs::path& folder, const Extensions& extensions) {
  std::vector<std::string> found;
  std::error_code problem;
  fs::recursive_directory_iterator entry(folder, problem);
  for (; !problem && entry != fs::recursive_directory_iterator(); entry.increment(problem)) {
    std::error_code ignored;  // a dangling link is not a file, and no failure
    if (is_hidden(entry->path())) {
      entry.disable_recursion_pending();
    } else if (entry->is_regular_file(ignored) && has_extension(entry->path(), extensions)) {
      found.push_back(entry->path().string());
    }
  }
  if (problem) return Error{BALEEN_IO, "cannot walk the folder: " + problem.message(), folder.string()};
  std::sort(found.begin(), found.end());
  return found;
}

Result<std::vector<std::string>> expand_pattern(const std::string& pattern, const Extensions& extensions) {
  glob_t matches{};
  const int problem = ::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &matches);
  std::vector<std::string> paths(matches.gl_pathv, matches.gl_pathv + matches.gl_pathc);
  ::globfree(&matches);
  if (problem != 0 && problem != GLOB_NOMATCH) return Error{BALEEN_IO, "cannot expand the pattern", pattern};
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> found;
  for (const std::string& path : paths) {
    if (fs::is_directory(path)) {
      BALEEN_TRY_ASSIGN(auto inside, walk(path, extensions));
      found.insert(found.end(), inside.begin(), inside.end());
    } else if (has_extension(path, extensions)) {
      found.push_back(path);
    }
  }
  return found;
}

Error nothing_found(const std::string& path, const Extensions& extensions) {
  std::string message = "no file found";
  if (!extensions.empty()) {
    message += " that ends in";
    for (std::string_view extension : extensions)
      message += (extension.starts_with('.') ? " " : " .") + std::string(extension);
  }
  return {BALEEN_NOT_FOUND, message, path};
}

}  // namespace

Result<std::vector<FoundFile>> find_files(const std::vector<std::string_view>& entries, std::string_view folder,
                                          const Extensions& extensions) {
  std::vector<FoundFile> files;
  std::unordered_set<std::string> seen;
  for (std::string_view entry : entries) {
    const fs::path path = (fs::path(folder) / entry).lexically_normal();
    std::vector<std::string> found;
    bool named = false;
    std::error_code problem;
    if (fs::is_directory(path, problem)) {
      BALEEN_TRY_ASSIGN(found, walk(path, extensions));
    } else if (fs::exists(path, problem) || entry.find_first_of("*?[") == entry.npos) {
      named = true;
      if (problem && problem != std::errc::no_such_file_or_directory)
        return Error{BALEEN_IO, "cannot look at it: " + problem.message(), path.string()};
      if (!fs::exists(path, problem)) return Error{BALEEN_NOT_FOUND, "no such file or folder", path.string()};
      found.push_back(path.string());
    } else {
      BALEEN_TRY_ASSIGN(found, expand_pattern(path.string(), extensions));
    }
    if (found.empty()) return nothing_found(path.string(), extensions);
    for (std::string& file : found)
      if (seen.insert(file).second) files.push_back({std::move(file), named});
  }
  return files;
}

}  // namespace baleen::text
