/// \file The files that slots lie in: without names, so that they are gone at any death; one in each folder, striped.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "baleen/host.hpp"
#include "baleen/result.hpp"

namespace baleen::nvme {

/// How a file loses its name: at birth (O_TMPFILE), right after it, or, where neither works, at its end.
enum class SwapName { kNone, kUnlinked, kKept };

/// Where bytes of the store lie.
struct SwapPlace {
  std::uint32_t number = 0;  ///< of the file
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;  ///< that follow each other there
};

/// [one thread at a time; `place`, `file`: any, while nothing grows]
class SwapFiles {
 public:
  SwapFiles() = default;
  SwapFiles(SwapFiles&& other) noexcept;
  SwapFiles& operator=(SwapFiles&&) = delete;
  ~SwapFiles();

  /// Opens a file in each folder, after it has removed what processes that are dead left there. `first`: the way to
  /// begin with; those behind it follow where it does not work.
  static Result<SwapFiles> open(const Host& host, const std::vector<std::string>& folders, std::uint64_t stripe,
                                bool direct, SwapName first = SwapName::kNone);

  /// Room on the disks for the store's bytes up to `end`, which are zeros where they are new. All or nothing.
  Status grow(std::uint64_t end);
  void shrink(std::uint64_t end);
  SwapPlace place(std::uint64_t at) const;
  int file(std::uint32_t number) const { return files_[number].descriptor; }
  /// The folder, or the file where it has a name.
  const std::string& path(std::uint32_t number) const { return files_[number].path; }
  std::size_t count() const { return files_.size(); }
  /// Whether any file is read and written without the page cache: then memory and offsets must be aligned.
  bool is_direct() const;
  /// Bytes of the store that the file systems have room for now, besides what it has.
  std::uint64_t room() const;

 private:
  struct File {
    int descriptor = -1;
    bool is_direct = false, has_name = false;
    std::string path;
    std::uint64_t bytes = 0;
  };
  /// Of a file, where the store has that many bytes.
  std::uint64_t share(std::uint64_t bytes) const;
  Status grow_file(File& file, std::uint64_t bytes, std::uint64_t end) const;

  std::vector<File> files_;
  std::uint64_t stripe_ = 0;
};

/// "baleen-swap.HOST.PID.START.NUMBER" of this process.
std::string swap_name(std::uint32_t number);
/// Whether the name is of a process of this host that is dead.
bool is_left_behind(std::string_view name);

}  // namespace baleen::nvme
