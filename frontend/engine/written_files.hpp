/// \file That no file which a command writes is one that it reads, or writes twice.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "baleen/result.hpp"

namespace baleen::app {

/// A file of a command. One with an empty path is none.
struct NamedFile {
  std::string what;  ///< for messages: "--save", "the script"
  std::filesystem::path path;
};

/// INVALID, with both names, where one of `written` is another of them, or one of `read`, by whatever path; what is no
/// regular file, as a terminal, may be several.
Status check_written_files(const std::vector<NamedFile>& written, const std::vector<NamedFile>& read);

}  // namespace baleen::app
