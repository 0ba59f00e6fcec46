/// \file Reads C and C++ sources as text: their includes and their string literals, comments left out.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace baleen::structure {

/// An `#include` as written.
struct Include {
  std::string path;
  bool angled = false;  ///< <path>, not "path"
  int line = 0;
};

/// A string literal's characters between its quotes, escapes as written.
struct Literal {
  std::string text;
  int line = 0;
};

struct SourceText {
  std::vector<Include> includes;
  std::vector<Literal> literals;  ///< the paths of includes are none
};

SourceText read_text(std::string_view code);
SourceText read_file(const std::filesystem::path& path);

/// Every C and C++ source and header below `folder`, sorted; empty if there is no such folder.
std::vector<std::filesystem::path> sources_below(const std::filesystem::path& folder);

}  // namespace baleen::structure
