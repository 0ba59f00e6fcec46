/// \file A whole file in memory.
#pragma once
#include <filesystem>
#include <string>

#include "baleen/result.hpp"

namespace baleen {

enum class FileKinds {
  regular,   ///< nothing else, so that no call waits
  streaming  ///< pipes and devices too, up to their end
};

/// All bytes of a file. IO, with the path and a remedy, where it is a folder or of another kind that is not read, and
/// where the system does not give them.
Result<std::string> file_text(const std::filesystem::path& path, FileKinds kinds = FileKinds::regular);

}  // namespace baleen
