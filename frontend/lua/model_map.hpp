/// \file What a map in Lua says: which tensors of another framework's files are which parameters, and which files there
/// are. The maps are scripts/lua/baleen/models; who moves the bytes is frontend/exchange.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "baleen/result.hpp"

namespace baleen {

/// One parameter and the tensors it is made of.
struct TensorRule {
  std::string ours;
  std::vector<std::string> theirs;     ///< one, or as many as the letter `stack` counts
  std::string form;                    ///< "(h d) e -> e h d"
  std::map<char, std::int64_t> sizes;  ///< of the letters
  std::string stack;                   ///< a letter of ours, or empty
  std::string padded;                  ///< a letter that may be longer in ours, or empty
  std::vector<std::string> copies;     ///< names of the same tensor that may be there too
  bool optional = false;               ///< may be missing there
  std::string where;                   ///< of the user's file; empty for the library's maps
};

struct ModelMap {
  std::string name, head;
  std::string config;  ///< the file that the sizes come from
  std::vector<TensorRule> rules;
  std::vector<std::string> unused;  ///< patterns of tensors that are left out
  std::string prefix;               ///< their names may lack it
  bool bare = false;                ///< they are written without it
  /// Endings of names as older files have them, and today's.
  std::vector<std::pair<std::string, std::string>> earlier;
  std::int64_t multiple = 1;  ///< what `padded` letters are padded to where no session says it
};

/// Files with tensors.
struct ModelFiles {
  std::string index;                           ///< the file that says what is where; empty: there is one file
  std::vector<std::string> files;              ///< paths
  std::map<std::string, std::size_t> file_of;  ///< by tensor; of an index
};

/// What an export consists of.
struct ExportPlan {
  std::vector<std::pair<std::string, std::size_t>> files;  ///< name, and how many tensors it holds, in their order
  std::vector<std::pair<std::string, std::string>> texts;  ///< name, contents
  std::vector<std::filesystem::path> copies;               ///< files beside the config
};

/// What is asked of the maps.
struct MapRequest {
  std::string path;           ///< a folder
  std::string config;         ///< a folder or a config.json; empty: that of `path`
  std::filesystem::path map;  ///< a Lua file with a map of the user's own; empty: the library's, by the config
  std::string head;           ///< empty: by the config
  std::int64_t multiple = 0;  ///< 0: 1
};

}  // namespace baleen
