/// \file A file that is there when it is whole, and not before.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>

#include "baleen/file_handle.hpp"
#include "baleen/result.hpp"

namespace baleen::app {

/// Without a name until it is whole, so that a killed process leaves nothing. On a file system that has no such files
/// it is written beside its place (`sdk::partial_of`), and what a killed process left there goes with the next one.
/// What is no regular file (a pipe, a device) is written as it is, and so is what stands for an open file
/// (`/dev/stdout`). A symbolic link stays one: the file that it leads to is replaced.
class NewFile {
 public:
  /// IO where nothing can be written there.
  static Result<NewFile> create(const std::filesystem::path& path);
  NewFile(NewFile&& other) noexcept;
  NewFile& operator=(NewFile&&) = delete;
  ~NewFile();

  Status write(std::string_view text);
  /// Syncs it, and puts it where it belongs, in the place of one that is there.
  Status finish();

 private:
  NewFile() = default;
  /// Whether there is one without a name, in `folder`.
  bool open_nameless(const std::filesystem::path& folder);
  Status name_it();
  Status flush();
  Error failed(const char* what) const;

  std::filesystem::path path_, beside_;  ///< beside_ is empty: written in place, without a name, or finished
  bool nameless_ = false;
  FileHandle file_;
  std::string waiting_;  ///< to be written
};

}  // namespace baleen::app
